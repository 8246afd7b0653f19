/* SPDX-License-Identifier: MIT */
/* Counted calls: as spans, as sums at stacks, and as estimates from samples. */
#include "call_counts.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct maker *maker;
static uint32_t process, thread, scope, f, g, h;

static uint32_t frame_of(const char *function, int32_t line)
{
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = function, .file = "/src/a.py", .first_line = line};
    return maker_frame_of(maker_trace(maker), &frame);
}

static uint32_t label_of(const char *function, int32_t line)
{
    return stacks_get_frame(trace_stacks_get(maker_trace(maker)), frame_of(function, line))->label;
}

static void make(void)
{
    maker = maker_create();
    process = maker_process(maker, 10, 0, "python3 a.py", 0);
    thread = maker_thread(maker, process, 10, "main");
    scope = maker_observed(maker, "", OBSERVER_PYTHON_CALLS, 0);
    f = label_of("f", 1);
    g = label_of("g", 5);
    h = label_of("h", 9);
}

static void tell(enum event_kind kind, int64_t time, uint32_t label, unsigned flags)
{
    struct event event = {.kind = (uint8_t)kind, .thread = thread, .time_ns = time, .scope = scope};
    event.flags = (uint8_t)flags;
    if (label)
        event.name = (uint32_t)trace_label_name(maker_trace(maker), label);
    if (kind == EVENT_MARK) {
        event.value_kind = VALUE_BOOL;
        event.value.uint64 = 1;
    }
    maker_event(maker, &event);
}

static void call(int64_t time, uint32_t label)
{
    tell(EVENT_PUSH, time, label, 0);
}

static uint32_t stack_of(uint32_t parent, const char *function, int32_t line)
{
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = function, .file = "/src/a.py", .first_line = line};
    return maker_stack(maker, parent, &frame);
}

static struct calls *read_as(const struct calls_options *options)
{
    maker_finish(maker, 10000 * MS);
    const struct pass_source source = maker_pass_source(maker);
    struct calls *calls = calls_create(maker_trace(maker), options);
    const struct sink sink = calls_sink(calls);
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK_INT(calls_finish(calls), 0);
    return calls;
}

static struct calls *read_all(void)
{
    return read_as(&(struct calls_options){0});
}

static void finish(struct calls *calls)
{
    calls_destroy(calls);
    maker_destroy(maker);
}

static const struct call_function *find(const struct calls *calls, uint32_t label)
{
    const struct call_function *functions;
    uint32_t count = calls_functions(calls, &functions);
    for (uint32_t i = 0; i < count; i++)
        if (functions[i].label == label)
            return &functions[i];
    CHECK_INT(label, 0);
    return NULL;
}

static void check(const struct call_numbers *sum, uint64_t calls, uint64_t primitive,
                  int64_t own_ms, int64_t total_ms)
{
    CHECK_INT(sum->calls, calls);
    CHECK_INT(sum->primitive, primitive);
    CHECK_INT(sum->own_ns, own_ms * MS);
    CHECK_INT(sum->total_ns, total_ms * MS);
}

static const struct call_edge *find_edge(const struct calls *calls, uint32_t caller,
                                         uint32_t callee)
{
    const struct call_function *functions;
    const struct call_edge *edges;
    uint32_t count = calls_edges(calls, &edges);
    calls_functions(calls, &functions);
    for (uint32_t i = 0; i < count; i++)
        if (functions[edges[i].caller].label == caller &&
            functions[edges[i].callee].label == callee)
            return &edges[i];
    CHECK_INT(caller, callee + 1000);
    return NULL;
}

TEST(spans_of_calls_are_counted_with_who_called_them)
{
    make();
    call(0, f);
    call(10 * MS, g);
    maker_pop(maker, thread, 30 * MS);
    call(30 * MS, g);
    call(35 * MS, h);
    maker_pop(maker, thread, 40 * MS);
    maker_pop(maker, thread, 70 * MS);
    maker_pop(maker, thread, 100 * MS);
    struct calls *calls = read_all();
    check(&find(calls, f)->sum, 1, 1, 40, 100);
    check(&find(calls, g)->sum, 2, 2, 55, 60);
    check(&find(calls, h)->sum, 1, 1, 5, 5);
    CHECK_INT(find(calls, g)->min_ns, 20 * MS);
    CHECK_INT(find(calls, g)->max_ns, 40 * MS);
    check(&find_edge(calls, f, g)->sum, 2, 2, 55, 60);
    check(&find_edge(calls, g, h)->sum, 1, 1, 5, 5);
    CHECK_INT(calls_totals(calls)->calls, 4);
    CHECK_INT(calls_totals(calls)->own_ns, 100 * MS);
    CHECK_INT(calls_totals(calls)->sources, CALLS_EXACT);
    CHECK_INT(calls_totals(calls)->path_count, 3);
    finish(calls);
}

TEST(recursion_counts_once_in_the_total)
{
    make();
    call(0, f);
    call(10 * MS, f);
    call(20 * MS, g);
    call(30 * MS, f);
    maker_pop(maker, thread, 40 * MS);
    maker_pop(maker, thread, 50 * MS);
    maker_pop(maker, thread, 60 * MS);
    maker_pop(maker, thread, 70 * MS);
    struct calls *calls = read_all();
    check(&find(calls, f)->sum, 3, 1, 50, 70);
    check(&find(calls, g)->sum, 1, 1, 20, 30);
    check(&find_edge(calls, f, f)->sum, 1, 1, 20, 50);
    check(&find_edge(calls, g, f)->sum, 1, 1, 10, 10);
    finish(calls);
}

TEST(ranges_of_the_program_between_calls_change_nothing)
{
    make();
    call(0, f);
    maker_push(maker, thread, 10 * MS, "load");
    call(20 * MS, g);
    maker_pop(maker, thread, 30 * MS);
    maker_push(maker, thread, 40 * MS, "inner");
    call(50 * MS, g);
    maker_pop(maker, thread, 60 * MS);
    maker_pop(maker, thread, 70 * MS);
    maker_pop(maker, thread, 80 * MS);
    maker_pop(maker, thread, 100 * MS);
    struct calls *calls = read_all();
    check(&find(calls, f)->sum, 1, 1, 80, 100);
    check(&find_edge(calls, f, g)->sum, 2, 2, 20, 20);
    finish(calls);
}

TEST(what_goes_on_is_no_call)
{
    make();
    call(0, f);
    call(10 * MS, g);
    maker_pop(maker, thread, 20 * MS);
    tell(EVENT_PUSH, 30 * MS, g, EVENT_CONTINUES);
    maker_pop(maker, thread, 60 * MS);
    maker_pop(maker, thread, 100 * MS);
    struct calls *calls = read_all();
    check(&find(calls, g)->sum, 1, 1, 40, 40);
    CHECK_INT(find(calls, g)->max_ns, 0); /* of two parts, without single calls */
    CHECK_INT(find(calls, f)->max_ns, 100 * MS);
    check(&find_edge(calls, f, g)->sum, 1, 1, 40, 40);
    finish(calls);
}

/* A set of calls and nanoseconds. */
static uint16_t counted_set(void)
{
    const struct sample_set set = {.flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   .count = 2,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    return (uint16_t)sample_sets_add(trace_sets(maker_trace(maker)), &set);
}

static void counted(uint16_t set, uint32_t stack, int64_t calls, int64_t own_ns)
{
    const struct sample sample = {.set = set,
                                  .thread = thread,
                                  .time_ns = 1 * MS,
                                  .end_ns = 1000 * MS,
                                  .stack = stack,
                                  .value_count = 2,
                                  .values = (const int64_t[]){calls, own_ns}};
    maker_sample(maker, &sample);
}

TEST(sums_that_the_program_made_are_the_same_table)
{
    make();
    uint16_t set = counted_set();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5),
             in_h = stack_of(in_g, "h", 9);
    uint32_t again = stack_of(in_h, "f", 1);
    counted(set, in_h, 1000, 30 * MS);
    counted(set, in_f, 1, 100 * MS);
    counted(set, in_g, 10, 20 * MS);
    counted(set, in_g, 5, 10 * MS);
    counted(set, again, 7, 7 * MS);
    struct calls *calls = read_all();
    check(&find(calls, f)->sum, 8, 1, 107, 167);
    check(&find(calls, g)->sum, 15, 15, 30, 67);
    check(&find(calls, h)->sum, 1000, 1000, 30, 37);
    check(&find_edge(calls, f, g)->sum, 15, 15, 30, 67);
    check(&find_edge(calls, h, f)->sum, 7, 7, 7, 7);
    CHECK_INT(find(calls, h)->max_ns, 0);
    CHECK_INT(calls_totals(calls)->sources, CALLS_AGGREGATED);
    finish(calls);
}

static void ran(uint32_t stack, int64_t time)
{
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .thread = thread,
                                  .time_ns = time,
                                  .stack = stack,
                                  SAMPLE_VALUES(10 * MS)};
    maker_sample(maker, &sample);
}

TEST(functions_that_are_not_counted_any_more_are_estimated)
{
    make();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5);
    uint32_t in_h = stack_of(in_g, "h", 9);
    call(0, f);
    call(10 * MS, g);
    maker_pop(maker, thread, 12 * MS);
    call(12 * MS, h);
    maker_pop(maker, thread, 13 * MS);
    tell(EVENT_MARK, 13 * MS, g, 0);
    tell(EVENT_MARK, 13 * MS, h, 0);
    maker_pop(maker, thread, 100 * MS);
    ran(in_g, 11 * MS); /* while it was counted */
    ran(in_g, 20 * MS);
    ran(in_g, 30 * MS);
    ran(in_h, 40 * MS);
    ran(in_f, 50 * MS);
    struct calls *calls = read_as(&(struct calls_options){0});
    check(&find(calls, f)->sum, 1, 1, 67, 100); /* 97 without these */
    check(&find(calls, g)->sum, 11, 11, 22, 32);
    CHECK_INT(find(calls, g)->estimated_calls, 10);
    CHECK_INT(find(calls, g)->estimated_ns, 20 * MS);
    check(&find(calls, h)->sum, 11, 11, 11, 11);
    check(&find_edge(calls, f, g)->sum, 11, 11, 22, 32);
    check(&find_edge(calls, g, h)->sum, 10, 10, 10, 10);
    CHECK_INT(calls_totals(calls)->own_ns, 100 * MS);
    CHECK_INT(calls_totals(calls)->stopped_count, 2);
    CHECK_INT(calls_totals(calls)->sources, CALLS_EXACT | CALLS_ESTIMATED);
    finish(calls);
}

/* --trace-select: its caller is not traced, so its time cannot be subtracted from the caller's, and
 * the caller has no row. */
TEST(functions_of_callers_that_are_not_traced_are_estimated)
{
    make();
    uint32_t in_f = stack_of(0, "f", 1), in_main = stack_of(in_f, "main", 3);
    uint32_t in_g = stack_of(in_main, "g", 5);
    call(10 * MS, g);
    maker_pop(maker, thread, 12 * MS);
    tell(EVENT_MARK, 13 * MS, g, 0);
    ran(in_g, 20 * MS);
    ran(in_g, 30 * MS);
    struct calls *calls = read_as(&(struct calls_options){0});
    const struct call_function *functions;
    check(&find(calls, g)->sum, 11, 11, 22, 22);
    CHECK_INT(find(calls, g)->estimated_calls, 10);
    CHECK_INT(calls_functions(calls, &functions), 1);
    finish(calls);
}

TEST(functions_between_traced_ones_have_no_estimate)
{
    make();
    uint32_t in_f = stack_of(0, "f", 1), in_main = stack_of(in_f, "main", 3);
    uint32_t in_g = stack_of(in_main, "g", 5);
    call(0, f);
    call(10 * MS, g);
    maker_pop(maker, thread, 12 * MS);
    tell(EVENT_MARK, 13 * MS, g, 0);
    maker_pop(maker, thread, 100 * MS);
    ran(in_g, 20 * MS);
    struct calls *calls = read_as(&(struct calls_options){0});
    check(&find(calls, f)->sum, 1, 1, 88, 100);
    check(&find(calls, g)->sum, 6, 6, 12, 12);
    check(&find_edge(calls, f, g)->sum, 6, 6, 12, 12);
    finish(calls);
}

TEST(counts_of_stopped_functions_without_samples_are_no_exact_ones)
{
    const enum calls_group groups[] = {CALLS_TOGETHER, CALLS_BY_PROCESS, CALLS_BY_THREAD};

    for (unsigned i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        make();
        call(10 * MS, g);
        maker_pop(maker, thread, 12 * MS);
        call(12 * MS, f);
        maker_pop(maker, thread, 13 * MS);
        tell(EVENT_MARK, 13 * MS, g, 0);
        struct calls *calls = read_as(&(struct calls_options){.group = groups[i]});
        CHECK_INT(find(calls, g)->sources, CALLS_EXACT | CALLS_ESTIMATED);
        CHECK_INT(find(calls, f)->sources, CALLS_EXACT);
        CHECK_INT(find(calls, g)->sum.calls, 1);
        finish(calls);
    }
}

/* The shortest calls give the cost of recording one, and late values do not affect it. */
TEST(estimates_are_those_of_calls_that_are_not_recorded)
{
    make();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5);
    int64_t now = 0;
    call(now, f);
    for (int i = 0; i < 200; i++) {
        call(now += 1000, h); /* an empty function */
        maker_pop(maker, thread, now += 100);
        call(now += 1000, g);
        maker_pop(maker, thread, now += i == 7 ? 5 * MS : 120);
    }
    tell(EVENT_MARK, now, g, 0);
    maker_pop(maker, thread, 100 * MS);
    ran(in_g, 50 * MS);
    struct calls *calls = read_as(&(struct calls_options){0});
    CHECK_INT(calls_totals(calls)->recording_ns, 80);
    CHECK_INT(find(calls, g)->estimated_calls, 10 * MS / 40);
    CHECK_INT(find(calls, g)->estimated_ns, 10 * MS);
    finish(calls);
}

/* The shortest calls are real work of the program, and as long as the unrecorded ones. */
TEST(work_is_not_taken_for_recording)
{
    make();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5);
    int64_t now = 0;
    call(now, f);
    for (int i = 0; i < 200; i++) {
        call(now += 1000, g);
        maker_pop(maker, thread, now += 2000);
    }
    tell(EVENT_MARK, now, g, 0);
    maker_pop(maker, thread, 100 * MS);
    ran(in_g, 50 * MS);
    struct calls *calls = read_as(&(struct calls_options){0});
    CHECK_INT(calls_totals(calls)->recording_ns, 0);
    CHECK_INT(find(calls, g)->estimated_calls, 10 * MS / 2008); /* a bucket of the histogram */
    finish(calls);
}

TEST(time_off_the_cpu_is_told_apart)
{
    make();
    call(0, f);
    call(10 * MS, g);
    maker_pop(maker, thread, 30 * MS);
    maker_pop(maker, thread, 100 * MS);
    maker_wait(maker,
               &(struct sample){
                   .thread = thread, .time_ns = 15 * MS, .end_ns = 25 * MS, .reason = WAIT_SLEEP},
               25 * MS);
    maker_wait(maker,
               &(struct sample){
                   .thread = thread, .time_ns = 50 * MS, .end_ns = 80 * MS, .reason = WAIT_SLEEP},
               80 * MS);
    struct calls *calls = read_as(&(struct calls_options){.off_cpu = true});
    CHECK_INT(find(calls, g)->off_ns, 10 * MS);
    CHECK_INT(find(calls, f)->off_ns, 30 * MS);
    finish(calls);
}

/* Off the CPU for some milliseconds, ready all the time; or waiting. */
static void was_off(uint32_t stack, int64_t time, int64_t length, bool waits)
{
    const struct sample stretch = {.thread = thread,
                                   .time_ns = time * MS,
                                   .end_ns = (time + length) * MS,
                                   .stack = stack,
                                   .reason = waits ? WAIT_SLEEP : WAIT_PREEMPTED};
    maker_wait(maker, &stretch, (time + (waits ? length : 0)) * MS);
}

/* Three quarters of the time of f and g are without a processor. The cost of counting a call of g
 * is counted as g's, but samples see f. */
TEST(time_off_the_cpu_of_counted_functions_is_that_of_their_counts)
{
    make();
    uint16_t set = counted_set();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5);
    counted(set, in_f, 1, 100 * MS);
    counted(set, in_g, 1000, 300 * MS);
    for (int i = 0; i < 6; i++)
        ran(in_f, i * MS);
    for (int i = 0; i < 4; i++)
        ran(in_g, i * MS);
    was_off(in_f, 100, 180, false);
    was_off(in_g, 300, 120, false);
    struct calls *calls = read_as(&(struct calls_options){.off_cpu = true});
    CHECK_INT(find(calls, f)->off_ns, 75 * MS);
    CHECK_INT(find(calls, g)->off_ns, 225 * MS);
    CHECK(find(calls, f)->off_moved && find(calls, g)->off_moved);
    finish(calls);
}

TEST(time_off_the_cpu_stays_where_counts_and_samples_agree)
{
    make();
    uint16_t set = counted_set();
    uint32_t in_f = stack_of(0, "f", 1), in_g = stack_of(in_f, "g", 5);
    uint32_t in_h = stack_of(in_g, "h", 9); /* is not counted: its time is the caller's */
    counted(set, in_f, 1, 140 * MS);
    counted(set, in_g, 10, 160 * MS);
    for (int i = 0; i < 5; i++)
        ran(in_f, i * MS);
    ran(in_h, 5 * MS);
    was_off(in_f, 100, 80, false);
    was_off(in_h, 300, 150, true);
    struct calls *calls = read_as(&(struct calls_options){.off_cpu = true});
    CHECK_INT(find(calls, f)->off_ns, 80 * MS);
    CHECK_INT(find(calls, g)->off_ns, 150 * MS);
    CHECK(!find(calls, f)->off_moved && !find(calls, g)->off_moved);
    finish(calls);
}

TEST(calls_without_a_path_still_count)
{
    make();
    call(0, f);
    call(10 * MS, g);
    call(20 * MS, h);
    maker_pop(maker, thread, 30 * MS);
    maker_pop(maker, thread, 40 * MS);
    maker_pop(maker, thread, 50 * MS);
    struct calls *calls = read_as(&(struct calls_options){.path_limit = 2});
    check(&find(calls, f)->sum, 1, 1, 20, 50);
    check(&find(calls, g)->sum, 1, 1, 20, 20);
    check(&find(calls, h)->sum, 1, 1, 10, 10);
    CHECK_INT(calls_totals(calls)->calls, 3);
    CHECK_INT(calls_totals(calls)->no_path_calls, 2);
    CHECK_INT(calls_totals(calls)->own_ns, 50 * MS);
    finish(calls);
}

TEST(threads_have_functions_of_their_own)
{
    make();
    uint32_t first = thread;
    call(0, f);
    maker_pop(maker, thread, 10 * MS);
    thread = maker_thread(maker, process, 11, "second");
    call(0, f);
    maker_pop(maker, thread, 30 * MS);
    struct calls *calls = read_as(&(struct calls_options){.group = CALLS_BY_THREAD});
    const struct call_function *functions;
    CHECK_INT(calls_functions(calls, &functions), 2);
    CHECK_INT(functions[0].group, thread);
    check(&functions[0].sum, 1, 1, 30, 30);
    CHECK_INT(functions[1].group, first);
    check(&functions[1].sum, 1, 1, 10, 10);
    finish(calls);
}

static void in_range(int64_t begin, int64_t end, const char *name, uint32_t label)
{
    maker_push(maker, thread, begin, name);
    call(begin, label);
    maker_pop(maker, thread, end);
    maker_pop(maker, thread, end);
}

static const char *text_of(uint32_t string)
{
    return trace_string(maker_trace(maker), string)->bytes;
}

/* f calls g in a range and h outside of it, then a task's step calls g in another range. */
TEST(calls_are_told_by_the_task_and_range_they_were_made_in)
{
    make();
    uint32_t task =
        (uint32_t)trace_context_label(maker_trace(maker), LABEL_TASK, "work", strlen("work"));
    call(0, f);
    in_range(10 * MS, 30 * MS, "first", g);
    call(30 * MS, h);
    maker_pop(maker, thread, 40 * MS);
    maker_push(maker, thread, 40 * MS, "around");
    call(50 * MS, task);
    call(60 * MS, h);
    in_range(70 * MS, 75 * MS, "second", g);
    maker_pop(maker, thread, 80 * MS);
    maker_pop(maker, thread, 90 * MS);
    maker_pop(maker, thread, 95 * MS);
    maker_pop(maker, thread, 100 * MS);
    struct calls *calls = read_all();
    const struct call_function *functions;
    const struct call_made *made;
    CHECK_INT(calls_functions(calls, &functions), 3); /* a task is not a function */
    check(&find(calls, f)->sum, 1, 1, 50, 100);       /* including the task's own 20 ms */
    check(&find(calls, g)->sum, 2, 2, 25, 25);
    check(&find(calls, h)->sum, 2, 2, 25, 30);
    check(&find_edge(calls, f, h)->sum, 2, 2, 25, 30);
    CHECK_INT(calls_totals(calls)->calls, 5);
    CHECK_INT(calls_totals(calls)->own_ns, 100 * MS);
    CHECK_INT(calls_made(calls, &made), 5);
    CHECK_INT(functions[made[0].function].label, f);
    check(&made[0].sum, 1, 1, 50, 100);
    CHECK_INT(functions[made[1].function].label, h);
    check(&made[1].sum, 1, 1, 10, 10);
    CHECK_STR(text_of(made[2].range), "first");
    check(&made[2].sum, 1, 1, 20, 20);
    CHECK_INT(made[2].task, 0);
    CHECK_INT(made[3].task, task);
    CHECK_INT(made[3].range, 0); /* ranges open on the loop's thread do not belong to the task */
    check(&made[3].sum, 1, 1, 15, 20);
    CHECK_INT(made[4].task, task);
    CHECK_STR(text_of(made[4].range), "second");
    CHECK_INT(functions[made[4].function].label, g);
    finish(calls);
}

TEST(sums_are_told_by_the_range_on_their_path)
{
    const struct sample_set set = {.flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   .count = 2,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    make();
    CHECK_INT(sample_sets_add(trace_sets(maker_trace(maker)), &set), SAMPLE_SET_OWN);
    struct stacks *stacks = trace_stacks(maker_trace(maker));
    int64_t range = trace_context_label(maker_trace(maker), LABEL_RANGE, "first", strlen("first"));
    const struct frame frame = {.kind = FRAME_NOTE, .label = (uint32_t)range};
    uint32_t in_f = stack_of(0, "f", 1);
    int64_t in_range = stacks_push(stacks, in_f, (uint32_t)stacks_frame(stacks, &frame));
    uint32_t places[] = {in_f, (uint32_t)in_range, stack_of((uint32_t)in_range, "g", 5)};
    for (int i = 0; i < 3; i++) {
        const struct sample sample = {.set = SAMPLE_SET_OWN,
                                      .thread = thread,
                                      .time_ns = 1,
                                      .end_ns = 100 * MS,
                                      .stack = places[i],
                                      .value_count = 2,
                                      .values = (const int64_t[]){i == 1 ? 0 : 2, (i + 1) * MS}};
        maker_sample(maker, &sample);
    }
    struct calls *calls = read_all();
    const struct call_made *made;
    check(&find(calls, f)->sum, 2, 2, 3, 6); /* including the time of the range */
    check(&find_edge(calls, f, g)->sum, 2, 2, 3, 3);
    CHECK_INT(calls_made(calls, &made), 2);
    CHECK_STR(text_of(made[1].range), "first");
    check(&made[1].sum, 2, 2, 3, 3);
    finish(calls);
}

static void on_track(enum event_kind kind, int64_t time, uint32_t name, uint32_t lane, uint32_t in)
{
    const struct event event = {.kind = (uint8_t)kind,
                                .thread = thread,
                                .time_ns = time,
                                .name = name,
                                .scope = in,
                                .lane = lane};
    maker_event(maker, &event);
}

/* f from 0 to 100, inside of it g twice and f once more, with the task suspended in both. */
TEST(coroutines_have_whole_calls_and_what_they_awaited)
{
    make();
    uint32_t lane = maker_track(maker, process, 7, "calls", -1);
    uint32_t whole = maker_observed(maker, "", OBSERVER_PYTHON_CALLS, CALLS_ROLE_WHOLE);
    uint32_t awaiting = maker_observed(maker, "", OBSERVER_PYTHON_CALLS, CALLS_ROLE_AWAITING);
    uint32_t name_f = (uint32_t)trace_label_name(maker_trace(maker), f);
    uint32_t name_g = (uint32_t)trace_label_name(maker_trace(maker), g);
    uint32_t name = maker_string(maker, "awaiting");
    on_track(EVENT_TRACK_BEGIN, 0, name_f, lane, whole);
    on_track(EVENT_TRACK_BEGIN, 10 * MS, name_g, lane, whole);
    on_track(EVENT_TRACK_BEGIN, 11 * MS, name, lane, awaiting);
    on_track(EVENT_TRACK_END, 31 * MS, 0, lane, 0);
    on_track(EVENT_TRACK_END, 32 * MS, 0, lane, 0);
    on_track(EVENT_TRACK_BEGIN, 40 * MS, name_f, lane, whole);
    on_track(EVENT_TRACK_BEGIN, 50 * MS, name, lane, awaiting);
    on_track(EVENT_TRACK_END, 55 * MS, 0, lane, 0);
    on_track(EVENT_TRACK_END, 60 * MS, 0, lane, 0);
    on_track(EVENT_TRACK_END, 100 * MS, 0, lane, 0);
    struct calls *calls = read_all();
    const struct call_function *functions;
    const struct call_coroutine *coroutines;
    CHECK_INT(calls_functions(calls, &functions), 0); /* they are not counted again as calls */
    CHECK_INT(calls_coroutines(calls, &coroutines), 2);
    CHECK_INT(coroutines[0].name, name_f);
    CHECK_INT(coroutines[0].calls, 2);
    CHECK_INT(coroutines[0].whole_ns, 100 * MS);
    CHECK_INT(coroutines[0].awaiting_ns, 25 * MS);
    CHECK_INT(coroutines[1].whole_ns, 22 * MS);
    CHECK_INT(coroutines[1].awaiting_ns, 20 * MS);
    CHECK_INT(coroutines[1].max_ns, 22 * MS);
    finish(calls);
}
