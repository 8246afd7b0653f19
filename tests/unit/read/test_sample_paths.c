/* SPDX-License-Identifier: MIT */
/* Each sample has the ranges that were open, either stored or computed. */
#include "pass.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct maker *maker;

static void add_sample(uint32_t thread, int64_t time, unsigned set)
{
    const struct sample sample = {.thread = thread, .time_ns = time};
    if (set == SAMPLE_SET_OFF_CPU) {
        struct sample wait = sample;
        wait.end_ns = time + 5;
        maker_wait(maker, &wait, 0);
        return;
    }
    maker_sample(maker,
                 &(struct sample){
                     .set = (uint16_t)set, .thread = thread, .time_ns = time, SAMPLE_VALUES(10)});
}

static void add_known(uint32_t thread, int64_t time, uint32_t path, unsigned more_flags)
{
    maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                         .thread = thread,
                                         .time_ns = time,
                                         .path = path,
                                         .flags = (uint8_t)(SAMPLE_PATH_KNOWN | more_flags)});
}

/* "load/nvtx:parse", "": outside; <inherited>, ?unrecorded. */
static const char *path_text(uint32_t path)
{
    static const char *const forms[] = {[RANGE_PATH_INHERITED] = "%s<%s>",
                                        [RANGE_PATH_UNRECORDED] = "%s?%s",
                                        [RANGE_PATH_PROBED] = NULL};
    static char text[256];
    uint32_t paths[16];
    const struct trace *trace = maker_trace(maker);
    uint32_t depth = stacks_paths(trace_stacks_get(trace), path, paths, 16);
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t kind = stacks_get_path(trace_stacks_get(trace), paths[i])->kind;
        char label[64];
        trace_range_label(trace, paths[i], label, sizeof(label));
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   forms[kind] ? forms[kind] : "%s%s", i ? "/" : "", label);
    }
    return text;
}

enum { SAMPLES_MAX = 64 };

static struct sample_checks checks; /* of the last pass */
static struct sample told[SAMPLES_MAX];
static size_t told_count;

static int take(void *context, const struct item *item)
{
    (void)context;
    CHECK(item->sample->flags & SAMPLE_PATH_KNOWN);
    CHECK(told_count < SAMPLES_MAX);
    told[told_count++] = *item->sample;
    return 0;
}

/* Samples of different threads arrive in any order. */
static int by_time(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Joins times and paths: "15:load 25:load/parse". */
static const char *selected_of(const struct pass_source *source,
                               const struct pass_selection *selection)
{
    static char text[1024];
    const struct sink sink = {take, NULL, WANT_SAMPLES | WANT_PATHS};
    size_t length = 0;
    text[0] = 0;
    told_count = 0;
    maker_rewind(maker);
    struct pass *pass = pass_create(source, selection, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    checks = pass_counts(pass)->checks;
    pass_destroy(pass);
    qsort(told, told_count, sizeof(*told), by_time);
    for (size_t i = 0; i < told_count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%lld:%s",
                                   length ? " " : "", (long long)(told[i].time_ns - MAKER_BEGIN_NS),
                                   path_text(told[i].path));
    return text;
}

static const char *selected(const struct pass_selection *selection)
{
    const struct pass_source source = maker_pass_source(maker);
    return selected_of(&source, selection);
}

static const char *all(void)
{
    return selected(&PASS_SELECT_ALL);
}

static uint32_t begin(void)
{
    maker = maker_create();
    return maker_thread(maker, maker_process(maker, 100, -1, "python a.py", 0), 100, "main");
}

TEST(paths_follow_from_the_events_of_the_thread)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 20, "parse");
    maker_pop(maker, thread, 30);
    maker_mark(maker, thread, 33, "here");
    maker_pop(maker, thread, 40);
    maker_push(maker, thread, 50, "train");
    for (int64_t time = 55; time > 0; time -= 10) /* in any order */
        add_sample(thread, time, SAMPLE_SET_CPU);
    maker_finish(maker, 60);
    CHECK_STR(all(), "5: 15:load 25:load/parse 35:load 45: 55:train");
    maker_destroy(maker);
}

static void push_call(int64_t time, const char *name)
{
    const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
    maker_event(maker,
                &(struct event){.kind = EVENT_PUSH,
                                .time_ns = time,
                                .name = maker_string(maker, name),
                                .scope = (uint32_t)trace_scope_add(maker_trace(maker), &calls)});
}

static int64_t spans[8][4]; /* begin, enclosing ranges, time in calls and ranges, in ranges */
static size_t span_count;

static int take_span(void *context, const struct item *item)
{
    (void)context;
    if (item->kind != ITEM_SPAN || item->call)
        return 0;
    const int64_t span[4] = {item->begin_ns - MAKER_BEGIN_NS, item->ranges, item->child_ns,
                             item->ranges_ns};
    memcpy(spans[span_count++], span, sizeof(span));
    return 0;
}

TEST(calls_are_no_ranges_of_paths)
{
    static const int64_t expected[][4] = {{30, 1, 10, 0}, {70, 1, 0, 0}, {10, 0, 75, 35}};
    uint32_t thread = begin();
    CHECK_INT(thread, 0);
    maker_push(maker, 0, 10, "outer");
    push_call(20, "f");
    maker_push(maker, 0, 30, "inner");
    push_call(40, "g");
    maker_pop(maker, 0, 50);
    maker_pop(maker, 0, 60);
    maker_push(maker, 0, 70, "inner");
    maker_pop(maker, 0, 75);
    maker_pop(maker, 0, 95);
    maker_pop(maker, 0, 100);
    uint32_t outer = maker_path(maker, 0, "outer");
    add_sample(0, 25, SAMPLE_SET_CPU);
    add_sample(0, 45, SAMPLE_SET_CPU);
    add_known(0, 80, outer, 0);
    maker_finish(maker, 110);
    CHECK_STR(all(), "25:outer 45:outer/inner 80:outer");
    CHECK_INT(checks.contradicted, 0);
    for (int part = 0; part < 2; part++) { /* with and without the fast path for whole ranges */
        const struct pass_selection selection = {.from_ns = part ? MAKER_BEGIN_NS : INT64_MIN,
                                                 .to_ns = INT64_MAX};
        const struct sink sink = {take_span, NULL, WANT_EVENTS};
        const struct pass_source source = maker_pass_source(maker);
        maker_rewind(maker);
        span_count = 0;
        CHECK_INT(pass_read(&source, &selection, &sink, 1), 0);
        CHECK_INT(span_count, 3);
        CHECK(memcmp(spans, expected, sizeof(expected)) == 0);
    }
    maker_destroy(maker);
}

TEST(gaps_and_edges_close_what_they_close)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 20, "parse");
    maker_lost(maker, thread, &(struct maker_gap){30, 40, 5, 1, LOSS_POOL_FULL});
    maker_push(maker, thread, 50, "after");
    maker_event(maker, &(struct event){.kind = EVENT_EDGE, .thread = thread, .time_ns = 60});
    for (int64_t time = 25; time < 70; time += 10)
        add_sample(thread, time, SAMPLE_SET_CPU);
    maker_finish(maker, 80);
    CHECK_STR(all(), "25:load/parse 35:load 45:load 55:load/after 65:");
    maker_destroy(maker);
}

TEST(threads_do_not_mix_and_those_without_events_have_no_path)
{
    uint32_t first = begin();
    uint32_t second = maker_thread(maker, 0, 101, "worker");
    uint32_t sampled = maker_thread(maker, 0, 102, "native");
    trace_thread(maker_trace(maker), sampled)->serial = 0;
    maker_push(maker, first, 10, "a");
    maker_push(maker, second, 12, "b");
    add_sample(second, 15, SAMPLE_SET_CPU);
    add_sample(first, 15, SAMPLE_SET_CPU);
    add_sample(sampled, 15, SAMPLE_SET_CPU);
    maker_finish(maker, 80);
    CHECK_STR(all(), "15:a 15:b 15:");
    maker_destroy(maker);
}

static bool wants(void *context, uint32_t thread)
{
    return thread == *(const uint32_t *)context;
}

TEST(selections_keep_what_they_say)
{
    uint32_t first = begin();
    uint32_t other = maker_thread(maker, maker_process(maker, 200, 0, "b", 0), 200, "main");
    struct pass_selection selection = PASS_SELECT_ALL;
    maker_push(maker, first, 10, "load");
    maker_push(maker, first, 20, "parse");
    maker_push(maker, other, 10, "loading");
    add_sample(first, 5, SAMPLE_SET_CPU);
    add_sample(first, 15, SAMPLE_SET_CPU);
    add_sample(first, 25, SAMPLE_SET_OFF_CPU);
    add_sample(other, 26, SAMPLE_SET_CPU);
    maker_finish(maker, 80);
    selection.wants = wants;
    selection.context = &other;
    CHECK_STR(selected(&selection), "26:loading");
    selection = PASS_SELECT_ALL;
    selection.range = "load";
    CHECK_STR(selected(&selection), "15:load 25:load/parse");
    selection.range = "*oad*";
    CHECK_STR(selected(&selection), "15:load 25:load/parse 26:loading");
    selection = PASS_SELECT_ALL;
    selection.from_ns = MAKER_BEGIN_NS + 10;
    selection.to_ns = MAKER_BEGIN_NS + 28; /* within the stretch */
    CHECK_STR(selected(&selection), "15:load 25:load/parse 26:loading");
    selection.from_ns = MAKER_BEGIN_NS + 27;
    CHECK_STR(selected(&selection), "27:load/parse");
    maker_destroy(maker);
}

/* Half a period of a range of 10 us, and more than 2 us from each of its ends. */
TEST(a_path_that_the_events_contradict_is_counted_and_not_believed)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10000, "load");
    maker_pop(maker, thread, 20000);
    add_known(thread, 15000, maker_path(maker, 0, "other"), 0);
    add_known(thread, 15001, 0, 0);
    add_known(thread, 15002, maker_path(maker, 0, "load"), 0);
    add_known(thread, 15003, maker_path(maker, maker_path(maker, 0, "load"), "more"), 0);
    add_known(thread, 30000, maker_path(maker, 0, "load"), 0);
    maker_finish(maker, 60000);
    CHECK_STR(all(), "15000:load 15001:load 15002:load 15003:load 30000:");
    CHECK_INT(checks.checked, 5);
    CHECK_INT(checks.contradicted, 4);
    CHECK_INT(checks.at_edge + checks.unsure, 0);
    maker_destroy(maker);
}

TEST(at_an_edge_what_was_read_is_right_on_both_sides)
{
    uint32_t thread = begin();
    uint32_t load = maker_path(maker, 0, "load");
    maker_push(maker, thread, 10000, "load");
    maker_pop(maker, thread, 20000);
    add_known(thread, 7999, load, 0);
    add_known(thread, 8000, load, 0);
    add_known(thread, 9999, load, 0);
    add_known(thread, 10000, 0, 0);
    add_known(thread, 11999, 0, 0);
    add_known(thread, 12001, 0, 0);
    add_known(thread, 21999, load, 0);
    add_known(thread, 22001, load, 0);
    maker_finish(maker, 60000);
    CHECK_STR(all(), "7999: 8000:load 9999:load 10000: 11999: "
                     "12001:load 21999:load 22001:");
    CHECK_INT(checks.contradicted, 3);
    CHECK_INT(checks.at_edge, 5);
    maker_destroy(maker);
}

static void push_in(uint32_t thread, int64_t time, const char *name, const char *domain)
{
    maker_event(maker, &(struct event){.kind = EVENT_PUSH,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, name),
                                       .scope = maker_scope(maker, domain, NULL)});
}

TEST(events_tell_the_domains_of_ranges_that_were_read)
{
    static const char *const domains[] = {"a", "b", NULL};
    uint32_t thread = begin();
    uint32_t same = maker_path(maker, 0, "same"), inner = maker_path(maker, same, "same");
    for (int i = 0; i < 3; i++) {
        push_in(thread, i * 20000, "same", domains[i]);
        push_in(thread, i * 20000 + 10000, "same", domains[2 - i]);
        maker_pop(maker, thread, i * 20000 + 15000);
        maker_pop(maker, thread, i * 20000 + 16000);
        add_known(thread, i * 20000 + 5000, same, 0);
        add_known(thread, i * 20000 + 12500, inner, 0);
    }
    maker_finish(maker, 80000);
    CHECK_STR(all(), "5000:a:same 12500:a:same/same 25000:b:same 32500:b:same/b:same 45000:same "
                     "52500:same/a:same");
    CHECK_INT(checks.contradicted, 0);
    maker_destroy(maker);
}

/* Spans that a BPF program reports of a thread are on the thread's lane, in order of time: inside
 * of the program's open ranges, around ranges that it opens before the end. The live stack lacks
 * them. */
TEST(spans_of_a_probe_nest_with_the_ranges_of_the_program)
{
    uint32_t thread = begin();
    const struct scope by_probe = {.domain = maker_string(maker, "probe"),
                                   .observer = OBSERVER_PROBE};
    uint32_t load = maker_path(maker, 0, "load"), hook = maker_path(maker, load, "hook");
    const uint32_t read[] = {load, load, hook, load, load};
    trace_thread(maker_trace(maker), thread)->probed = true;
    maker_push(maker, thread, 10000, "load");
    maker_push(maker, thread, 30000, "hook");
    maker_pop(maker, thread, 40000);
    maker_pop(maker, thread, 60000);
    maker_event(maker,
                &(struct event){.kind = EVENT_SPAN,
                                .thread = thread,
                                .time_ns = 20000,
                                .end_ns = MAKER_BEGIN_NS + 50000,
                                .lane = EVENT_OWN_LANE,
                                .origin_ns = EVENT_NO_ORIGIN,
                                .name = maker_string(maker, "malloc"),
                                .scope = (uint32_t)trace_scope_add(maker_trace(maker), &by_probe)});
    for (int i = 0; i < 5; i++)
        add_known(thread, 15000 + 10000 * i, read[i], 0);
    maker_finish(maker, 80000);
    CHECK_STR(all(), "15000:load 25000:load/probe:malloc 35000:load/probe:malloc/hook "
                     "45000:load/probe:malloc 55000:load");
    CHECK_INT(checks.checked, 5);
    CHECK_INT(checks.at_edge + checks.unsure + checks.contradicted, 0);
    const struct range_path *path =
        stacks_get_path(trace_stacks_get(maker_trace(maker)), told[1].path);
    CHECK_INT(path->kind, RANGE_PATH_PROBED);
    CHECK_INT(trace_scope(maker_trace(maker), path->scope)->observer, OBSERVER_PROBE);
    maker_destroy(maker);
}

/* A range of a task that the thread ran, and missing events. */
TEST(paths_keep_the_spans_of_a_probe)
{
    uint32_t thread = begin();
    uint32_t load = maker_path(maker, 0, "load");
    uint32_t task = maker_path_of_kind(maker, load, "task", RANGE_PATH_TRACK);
    uint32_t gone = maker_path(maker, load, "gone");
    trace_thread(maker_trace(maker), thread)->probed = true;
    maker_push(maker, thread, 10000, "load");
    maker_lost(maker, thread,
               &(struct maker_gap){.begin = 50000, .end = 60000, .lost = 2, .depth = 1});
    maker_pop(maker, thread, 90000);
    for (int i = 0; i < 2; i++)
        maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                           .thread = thread,
                                           .time_ns = 20000 + 50000 * i,
                                           .end_ns = MAKER_BEGIN_NS + 40000 + 50000 * i,
                                           .lane = EVENT_OWN_LANE,
                                           .origin_ns = EVENT_NO_ORIGIN,
                                           .name = maker_string(maker, "malloc")});
    add_known(thread, 30000, task, 0);
    add_known(thread, 80000, gone, 0);
    maker_finish(maker, 95000);
    CHECK_STR(all(), "30000:load/malloc/task 80000:load/?gone/malloc");
    CHECK_INT(checks.contradicted, 0);
    maker_destroy(maker);
}

/* The begins of two ranges were dropped, but that of the one between them was kept. */
TEST(where_events_are_missing_the_others_stay_and_the_rest_is_marked)
{
    uint32_t thread = begin();
    uint32_t a = maker_path(maker, 0, "a"), b = maker_path(maker, a, "b");
    uint32_t c = maker_path(maker, b, "c"), gone = maker_path(maker, 0, "gone");
    maker_push(maker, thread, 10000, "a");
    maker_lost(maker, thread, &(struct maker_gap){20000, 30000, 2, 1, LOSS_POOL_FULL});
    maker_push(maker, thread, 40000, "c");
    add_known(thread, 15000, maker_path(maker, 0, "b"), 0); /* before the gap */
    add_known(thread, 25000, b, 0);
    add_known(thread, 50000, c, 0);
    add_known(thread, 50001, gone, 0);
    add_known(thread, 50002, maker_path(maker, 0, "c"), 0);
    maker_finish(maker, 80000);
    CHECK_STR(all(), "15000:a 25000:a/?b 50000:a/?b/c 50001:?gone 50002:?c");
    CHECK_INT(checks.contradicted, 1);
    CHECK_INT(checks.unsure, 4);
    maker_destroy(maker);
}

TEST(ranges_of_a_forked_child_begin_where_its_own_do)
{
    begin();
    uint32_t process = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t child = maker_thread(maker, process, 200, "main");
    trace_process(maker_trace(maker), process)->forked = true;
    uint32_t main_path = maker_path_of_kind(maker, 0, "main", RANGE_PATH_INHERITED);
    uint32_t job = maker_path(maker, main_path, "job");
    maker_push(maker, child, 20000, "job");
    maker_pop(maker, child, 40000);
    add_known(child, 10000, main_path, 0);
    add_known(child, 30000, job, 0);
    add_known(child, 50000, main_path, 0);
    add_known(child, 60000, maker_path_of_kind(maker, main_path, "task", RANGE_PATH_TRACK), 0);
    maker_finish(maker, 80000);
    CHECK_STR(all(), "10000:<main> 30000:job 50000:<main> 60000:task");
    CHECK_INT(checks.contradicted, 0);
    maker_destroy(maker);
}

TEST(a_forked_child_without_events_has_what_its_parent_had_open)
{
    uint32_t thread = begin();
    struct trace *trace = maker_trace(maker);
    uint32_t child = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t grandchild = maker_process(maker, 300, (int32_t)child, "python a.py", 0);
    uint32_t first = maker_thread(maker, child, 200, "main");
    uint32_t second = maker_thread(maker, grandchild, 300, "main");
    uint32_t worker = maker_thread(maker, grandchild, 301, "started later");
    *trace_process(trace, child) = (struct trace_process){
        .forked = true, .ns_pid = 200, .fork_ns = MAKER_BEGIN_NS + 25, .fork_thread = thread + 1};
    *trace_process(trace, grandchild) = (struct trace_process){
        .forked = true, .ns_pid = 300, .fork_ns = MAKER_BEGIN_NS + 35, .fork_thread = first + 1};
    maker_push(maker, thread, 10, "main");
    push_in(thread, 20, "pool", "a");
    maker_pop(maker, thread, 30);
    maker_push(maker, first, 50, "own");
    maker_pop(maker, first, 60);
    add_sample(first, 40, SAMPLE_SET_CPU);
    add_sample(first, 55, SAMPLE_SET_CPU);
    add_sample(second, 56, SAMPLE_SET_CPU);
    add_sample(worker, 57, SAMPLE_SET_CPU);
    maker_finish(maker, 80);
    CHECK_STR(all(), "40:<main>/<a:pool> 55:own 56:<main>/<a:pool> 57:");
    maker_destroy(maker);
}

static int next_settled(void *context, struct event_batch *ret_batch)
{
    int status = maker_next(context, ret_batch);
    if (status == 1) /* events are created in order of time */
        ret_batch->settled_ns = ret_batch->events->time_ns;
    return status;
}

/* The second child's samples precede the events of the thread that forked it. */
TEST(samples_of_forks_wait_for_the_events_of_those_who_forked)
{
    uint32_t first = begin(), forkers[2] = {first, maker_thread(maker, 0, 101, "worker")};
    struct trace *trace = maker_trace(maker);
    for (int i = 0; i < 2; i++) {
        uint32_t child = maker_process(maker, 200 + i, 0, "python a.py", 0);
        add_sample(maker_thread(maker, child, 200 + i, "main"), i ? 50000 : 16000, SAMPLE_SET_CPU);
        *trace_process(trace, child) =
            (struct trace_process){.forked = true,
                                   .ns_pid = 200 + i,
                                   .fork_ns = MAKER_BEGIN_NS + (i ? 40000 : 15000),
                                   .fork_thread = forkers[i] + 1};
    }
    maker_push(maker, forkers[0], 10000, "a");
    maker_pop(maker, forkers[0], 20000);
    maker_push(maker, forkers[1], 30000, "b");
    maker_mark(maker, forkers[0], 35000, "first is known");
    maker_mark(maker, forkers[1], 60000, "here");
    maker_mark(maker, forkers[0], 90000, "there");
    maker_finish(maker, 100000);
    struct pass_source source = maker_pass_source(maker);
    source.next_events = next_settled;
    CHECK_STR(selected_of(&source, &PASS_SELECT_ALL), "16000:<a> 50000:<b>");
    maker_destroy(maker);
}

TEST(behind_the_last_event_of_a_recording_without_an_end_nothing_is_sure)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10000, "load");
    add_known(thread, 20000, maker_path(maker, 0, "other"), 0);
    maker_mark(maker, thread, 30000, "here");
    maker_push(maker, thread, 40000, "parse");
    add_known(thread, 50000, maker_path(maker, 0, "other"), 0);
    maker_finish(maker, 60000);
    trace_session(maker_trace(maker))->end_ns = 0;
    struct pass_source source = maker_pass_source(maker);
    source.next_events = next_settled;
    CHECK_STR(selected_of(&source, &PASS_SELECT_ALL), "20000:load 50000:?other");
    CHECK_INT(checks.unsure, 1);
    CHECK_INT(checks.contradicted, 1);
    trace_session(maker_trace(maker))->end_ns = MAKER_BEGIN_NS + 60000;
    CHECK_STR(selected_of(&source, &PASS_SELECT_ALL), "20000:load 50000:load/parse");
    CHECK_INT(checks.contradicted, 2);
    maker_destroy(maker);
}

TEST(a_cut_path_is_completed_by_the_events)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "outer");
    maker_push(maker, thread, 20, "inner");
    add_known(thread, 30, maker_path(maker, 0, "inner"), SAMPLE_PATH_CUT);
    maker_finish(maker, 80);
    CHECK_STR(all(), "30:outer/inner");
    CHECK_INT(checks.contradicted, 0);
    maker_destroy(maker);
}

/* The thread's open ranges follow from its events; the ranges of tasks are only in samples. */
TEST(ranges_of_tracks_stay_where_they_were_read)
{
    uint32_t thread = begin();
    uint32_t process = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t child = maker_thread(maker, process, 200, "main");
    trace_process(maker_trace(maker), process)->forked = true;
    uint32_t task = maker_path_of_kind(maker, 0, "task", RANGE_PATH_TRACK);
    uint32_t fetch = maker_path_of_kind(maker, task, "fetch", RANGE_PATH_INSIDE);
    maker_push(maker, thread, 10, "outer");
    maker_push(maker, thread, 20, "inner");
    add_known(thread, 30, maker_path(maker, fetch, "inner"), SAMPLE_PATH_CUT);
    add_known(thread, 31, maker_path(maker, fetch, "other"), SAMPLE_PATH_CUT);
    add_known(thread, 32, fetch, SAMPLE_PATH_CUT);
    /* It was forked inside of a task, then runs a task itself. */
    uint32_t main = maker_path_of_kind(maker, 0, "main", RANGE_PATH_INHERITED);
    uint32_t forked = maker_path_of_kind(maker, main, "forker", RANGE_PATH_INHERITED);
    uint32_t job = maker_path(maker, forked, "job");
    maker_push(maker, child, 20, "job");
    maker_pop(maker, child, 40);
    add_known(child, 33, maker_path_of_kind(maker, job, "own task", RANGE_PATH_TRACK), 0);
    add_known(child, 50, forked, 0);
    maker_finish(maker, 80);
    CHECK_STR(all(), "30:outer/task/fetch/inner 31:outer/inner 32:outer/inner/task/fetch "
                     "33:job/own task 50:<main>/<forker>");
    maker_destroy(maker);
}

static int fail_to_read(void *context, struct sample_batch *ret_batch)
{
    (void)context, (void)ret_batch;
    return -EIO;
}

TEST(an_error_of_the_source_is_passed_on)
{
    begin();
    struct pass_source source = maker_pass_source(maker);
    const struct sink sink = {take, NULL, WANT_SAMPLES | WANT_PATHS};
    source.next_samples = fail_to_read;
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), -EIO);
    maker_destroy(maker);
}

TEST(only_samples_with_the_flags_are_chosen)
{
    struct pass_selection selection = PASS_SELECT_ALL;
    const struct sample_sets sets = {0};
    struct sample holds = {.set = SAMPLE_SET_CPU,
                           .flags = SAMPLE_HOLDS_GIL | SAMPLE_GC,
                           .time_ns = 5,
                           SAMPLE_VALUES(1000)};
    struct sample runs = {.set = SAMPLE_SET_CPU, .time_ns = 5, SAMPLE_VALUES(1000)};
    int64_t values[SAMPLE_VALUES_MAX];
    CHECK(pass_selects_sample(&selection, &sets, &runs, values));
    selection.flags = SAMPLE_HOLDS_GIL;
    CHECK(!pass_selects_all(&selection));
    CHECK(pass_selects_sample(&selection, &sets, &holds, values));
    CHECK(!pass_selects_sample(&selection, &sets, &runs, values));
}
