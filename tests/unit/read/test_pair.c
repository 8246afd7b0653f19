/* SPDX-License-Identifier: MIT */
/* Pairing: random streams compared with a plain model, and written cases of gaps, edges and
 * ends. */
#include "pass.h"
#include "test.h"

enum { OUT_MAX = 100000 };

struct out {
    uint8_t kind, lane;
    uint32_t name, thread, end_thread, depth, flags, parent;
    int64_t begin_ns, end_ns, child_ns;
};

static struct out out[OUT_MAX];
static size_t out_count;
static bool with_opened;
static int stop_at; /* kind at which the sink stops the pass; -1: never */
static uint32_t wants;
static struct trace *trace;
static struct pass *pass;
static struct event_batch queued; /* count 0: consumed */

static int take(void *context, const struct item *item)
{
    (void)context;
    CHECK_INT(item->args.count, 0);
    if (item->kind == stop_at)
        return 42;
    if (item->kind == ITEM_OPENED && !with_opened)
        return 0;
    out[out_count++] = (struct out){
        .kind = item->kind,
        .lane = item->lane,
        .name = item->event->name,
        .thread = item->event->thread,
        .end_thread = item->end_thread,
        .depth = item->depth,
        .flags = item->flags,
        .parent = item->parents && item->depth ? item->parents[item->depth - 1]->name : 0,
        .begin_ns = item->begin_ns,
        .end_ns = item->end_ns,
        .child_ns = item->child_ns,
    };
    CHECK(out_count < OUT_MAX);
    return 0;
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    *ret_batch = queued;
    queued.count = 0;
    return ret_batch->count > 0;
}

static void make_pass(const struct pass_selection *selection)
{
    const struct pass_source source = {.trace = trace, .next_events = next_events};
    const struct sink sink = {take, NULL, WANT_EVENTS | WANT_BEGINS | wants};
    pass = pass_create(&source, selection, &sink, 1);
    CHECK(pass);
}

/* Two processes: threads 0 and 1 in the first, 2 in the second. */
static void begin(void)
{
    trace = trace_create();
    for (int i = 0; i < 2; i++)
        trace_process_add(trace);
    for (uint32_t i = 0; i < 3; i++)
        trace_thread_add(trace, i / 2);
    out_count = 0;
    stop_at = -1;
    make_pass(&PASS_SELECT_ALL);
}

static void finish(void)
{
    pass_destroy(pass);
    trace_destroy(trace);
}

static int try_feed(const struct event *event)
{
    queued = (struct event_batch){event->thread, 1, event, {0}, 0, NULL, 0, 0};
    return pass_step(pass);
}

static void feed(struct event event)
{
    CHECK_INT(try_feed(&event), 1);
}

static void push(uint32_t thread, int64_t time_ns, uint32_t name)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_PUSH, .name = name});
}

static void pop(uint32_t thread, int64_t time_ns, uint64_t depth)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_POP, .depth = depth});
}

static void start(uint32_t thread, int64_t time_ns, uint64_t id, uint32_t name)
{
    feed((struct event){
        .thread = thread, .time_ns = time_ns, .kind = EVENT_START, .id = id, .name = name});
}

static void end(uint32_t thread, int64_t time_ns, uint64_t id)
{
    feed((struct event){.thread = thread, .time_ns = time_ns, .kind = EVENT_END, .id = id});
}

static void lost(uint32_t thread, int64_t time_ns, int64_t end_ns, uint64_t depth)
{
    feed((struct event){.thread = thread,
                        .time_ns = time_ns,
                        .end_ns = end_ns,
                        .kind = EVENT_LOST,
                        .depth = depth});
}

static void check_span(size_t index, uint32_t name, int64_t begin_ns, int64_t end_ns,
                       uint32_t flags)
{
    CHECK(index < out_count);
    CHECK_INT(out[index].name, name);
    CHECK_INT(out[index].begin_ns, begin_ns);
    CHECK_INT(out[index].end_ns, end_ns);
    CHECK_INT(out[index].flags, flags);
}

static void call(uint32_t thread, int64_t time_ns, uint32_t name)
{
    const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
    feed((struct event){.thread = thread,
                        .time_ns = time_ns,
                        .kind = EVENT_PUSH,
                        .name = name,
                        .scope = (uint32_t)trace_scope_add(trace, &calls)});
}

/* Their threads go on without events of calls, begin anew at a later one, or end nothing more. */
TEST(calls_that_are_open_when_their_tracing_ends_end_there)
{
    begin();
    trace_process(trace, 0)->calls_end_ns = 50;
    call(0, 10, 1);
    call(0, 20, 2);
    call(1, 15, 3);
    push(1, 30, 4); /* the call around it ends with it */
    call(2, 40, 5); /* of another process */
    push(0, 60, 6);
    pop(0, 70, 2);
    pop(0, 80, 1); /* begins anew: ends what is left */
    pop(0, 80, 0);
    call(0, 81, 1);
    pop(1, 90, 1);
    pop(0, 95, 0);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(out_count, 7);
    check_span(0, 2, 20, 50, ITEM_UNFINISHED);
    check_span(1, 1, 10, 50, ITEM_UNFINISHED);
    check_span(2, 6, 60, 70, 0);
    CHECK_INT(out[2].depth, 0);
    check_span(3, 4, 30, 90, 0);
    check_span(4, 1, 81, 95, 0);
    check_span(5, 3, 15, 90, ITEM_UNFINISHED);
    check_span(6, 5, 40, 95, ITEM_UNFINISHED);
    finish();
}

TEST(nested_ranges_know_parents_and_children)
{
    begin();
    push(0, 10, 1);
    push(0, 20, 2);
    push(1, 21, 9);
    pop(0, 30, 1);
    push(0, 40, 3);
    pop(0, 45, 1);
    pop(0, 50, 0);
    pop(1, 60, 0);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(out_count, 4);
    check_span(0, 2, 20, 30, 0);
    CHECK_INT(out[0].parent, 1);
    CHECK_INT(out[0].depth, 1);
    check_span(2, 1, 10, 50, 0);
    CHECK_INT(out[2].child_ns, 15);
    CHECK_INT(out[2].depth, 0);
    check_span(3, 9, 21, 60, 0);
    finish();
}

TEST(gap_closes_what_the_producer_says_is_closed)
{
    begin();
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    lost(0, 40, 90, 1);
    push(0, 100, 4);
    pop(0, 110, 1);
    pop(0, 120, 0);
    CHECK_INT(out_count, 5);
    check_span(0, 3, 30, 90, ITEM_END_LOST);
    check_span(1, 2, 20, 90, ITEM_END_LOST);
    CHECK_INT(out[2].kind, ITEM_LOST);
    check_span(3, 4, 100, 110, 0);
    check_span(4, 1, 10, 120, 0);
    CHECK_INT(pass_counts(pass)->orphans, 0);
    finish();
}

TEST(ranges_pushed_inside_a_gap_do_not_shift_the_others)
{
    begin();
    push(0, 10, 1);
    lost(0, 20, 30, 3); /* two pushes were lost */
    push(0, 40, 2);
    CHECK_INT(out_count, 1);
    pop(0, 50, 3);
    check_span(1, 2, 40, 50, 0);
    CHECK_INT(out[1].parent, 1);
    pop(0, 60, 2); /* of a range with a lost begin */
    pop(0, 70, 1);
    CHECK_INT(pass_counts(pass)->orphans, 2);
    CHECK(out[2].kind == ITEM_ORPHAN && out[3].kind == ITEM_ORPHAN);
    CHECK_INT(out[3].begin_ns, 70);
    pop(0, 80, 0);
    check_span(4, 1, 10, 80, 0);
    finish();
}

TEST(pops_missing_without_notice_end_at_the_next_pop)
{
    begin();
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    pop(0, 40, 0);
    check_span(0, 3, 30, 40, ITEM_END_LOST);
    check_span(1, 2, 20, 40, ITEM_END_LOST);
    check_span(2, 1, 10, 40, 0);
    pop(0, 50, 0);
    pop(0, 60, UINT64_MAX);
    push(0, 70, 4);
    CHECK_INT(pass_counts(pass)->orphans, 2);
    finish();
}

TEST(a_gap_that_ends_before_it_begins_takes_no_time)
{
    begin();
    push(0, 10, 1);
    push(0, 20, 2);
    lost(0, 40, 15, 0);
    check_span(0, 2, 20, 40, ITEM_END_LOST);
    check_span(1, 1, 10, 40, ITEM_END_LOST); /* the enclosing range */
    CHECK_INT(out[2].end_ns, 40);
    finish();
}

TEST(edge_ends_the_ranges_of_its_thread)
{
    begin();
    push(0, 10, 1);
    push(1, 11, 2);
    feed((struct event){.thread = 0, .time_ns = 50, .kind = EVENT_EDGE});
    CHECK_INT(out_count, 2);
    check_span(0, 1, 10, 50, ITEM_UNFINISHED);
    CHECK_INT(out[1].kind, ITEM_EDGE);
    CHECK_INT(out[1].begin_ns, 50);
    push(0, 60, 3);
    pop(0, 70, 0);
    check_span(2, 3, 60, 70, 0);
    pop(1, 80, 0);
    check_span(3, 2, 11, 80, 0);
    finish();
}

TEST(unfinished_ranges_end_with_their_process_or_the_recording)
{
    begin();
    trace_process(trace, 0)->end_ns = 500;
    trace_session(trace)->end_ns = 1000;
    push(0, 10, 1);
    push(0, 20, 2);
    push(2, 30, 3);
    start(1, 40, 7, 4);
    start(2, 50, 7, 5);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(out_count, 5);
    check_span(0, 2, 20, 500, ITEM_UNFINISHED);
    check_span(1, 1, 10, 500, ITEM_UNFINISHED);
    CHECK_INT(out[1].child_ns, 480);
    check_span(2, 3, 30, 1000, ITEM_UNFINISHED);
    check_span(3, 4, 40, 500, ITEM_UNFINISHED);
    check_span(4, 5, 50, 1000, ITEM_UNFINISHED);
    finish();
}

TEST(starts_and_ends_meet_across_threads_in_any_order)
{
    begin();
    start(0, 10, 7, 1);
    start(2, 11, 7, 2); /* the same id in another process */
    end(1, 20, 8);      /* precedes its start, in the file */
    end(1, 30, 7);
    start(0, 15, 8, 3);
    end(2, 40, 7);
    CHECK_INT(out_count, 4);
    CHECK(out[0].kind == ITEM_ORPHAN && out[0].lane == LANE_PROCESS);
    CHECK_INT(out[0].begin_ns, 20);
    check_span(1, 1, 10, 30, 0);
    CHECK_INT(out[1].end_thread, 1);
    check_span(2, 3, 15, 20, ITEM_END_TOLD);
    CHECK_INT(out[2].end_thread, 1);
    check_span(3, 2, 11, 40, 0);
    end(0, 50, 99);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->orphans, 1);
    CHECK_INT(out_count, 5);
    CHECK_INT(out[4].kind, ITEM_ORPHAN);
    finish();
}

/* Memory for ends and starts is reused, and so is an id. */
TEST(overlapping_ranges_of_one_id_one_after_another)
{
    begin();
    for (int64_t i = 0; i < 1000; i++) {
        bool swapped = i % 3 == 0;
        if (swapped)
            end(1, 10 * i + 5, (uint64_t)(i % 7));
        start(0, 10 * i, (uint64_t)(i % 7), (uint32_t)i + 1);
        start(2, 10 * i, (uint64_t)(i % 7), 5000);
        if (!swapped)
            end(0, 10 * i + 5, (uint64_t)(i % 7));
        end(2, 10 * i + 6, (uint64_t)(i % 7));
        CHECK_INT(out[out_count - 2].name, i + 1);
        CHECK_INT(out[out_count - 2].begin_ns, 10 * i);
        CHECK_INT(out[out_count - 2].end_ns, 10 * i + 5);
        CHECK_INT(out[out_count - 2].lane, LANE_PROCESS);
        CHECK_INT(out[out_count - 1].name, 5000);
        CHECK_INT(out[out_count - 1].end_ns, 10 * i + 6);
    }
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->orphans, 0);
    finish();
}

TEST(two_ends_of_an_id_are_one_too_many)
{
    begin();
    end(0, 10, 7);
    end(1, 20, 7);
    start(0, 5, 7, 1);
    CHECK_INT(out_count, 3);
    check_span(2, 1, 5, 20, ITEM_END_TOLD);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->orphans, 1);
    finish();
}

TEST(an_end_before_its_start_leaves_no_time_below_0)
{
    begin();
    start(0, 10, 7, 1);
    end(1, 5, 7);
    check_span(0, 1, 10, 10, 0);
    push(0, 20, 2);
    pop(0, 15, 0);
    check_span(1, 2, 20, 20, 0);
    finish();
}

TEST(id_used_twice_ends_the_first_unfinished)
{
    begin();
    start(0, 10, 7, 1);
    start(0, 20, 7, 2);
    end(0, 30, 7);
    check_span(0, 1, 10, 20, ITEM_UNFINISHED);
    check_span(1, 2, 20, 30, 0);
    finish();
}

TEST(other_events_and_opened_pass_through)
{
    begin();
    with_opened = true;
    push(0, 10, 1);
    feed((struct event){.time_ns = 11, .kind = EVENT_MARK, .name = 2});
    feed((struct event){.time_ns = 12, .kind = EVENT_COUNTER, .name = 3});
    push(0, 13, 4);
    start(0, 14, 9, 5);
    for (int kind = EVENT_FLOW_BEGIN; kind <= EVENT_FLOW_END; kind++)
        feed((struct event){.thread = 1, .time_ns = 15, .kind = (uint8_t)kind, .name = 6});
    CHECK_INT(out_count, 8);
    CHECK_INT(out[0].kind, ITEM_OPENED);
    CHECK_INT(out[1].kind, ITEM_INSTANT);
    CHECK_INT(out[1].depth, 1);
    CHECK_INT(out[2].kind, ITEM_COUNTER);
    CHECK_INT(out[3].kind, ITEM_OPENED);
    CHECK_INT(out[3].depth, 1);
    CHECK_INT(out[4].kind, ITEM_OPENED);
    CHECK_INT(out[4].lane, LANE_PROCESS);
    for (int i = 5; i < 8; i++)
        CHECK(out[i].kind == ITEM_FLOW && out[i].depth == 0 && out[i].name == 6);
    for (int kind = EVENT_PUSH; kind < EVENT_KINDS; kind++)
        CHECK_INT(pass_counts(pass)->events[kind],
                  kind == EVENT_PUSH                                   ? 2
                  : kind == EVENT_MARK                                 ? 1
                  : kind == EVENT_COUNTER                              ? 1
                  : kind == EVENT_START                                ? 1
                  : kind >= EVENT_FLOW_BEGIN && kind <= EVENT_FLOW_END ? 1
                                                                       : 0);
    finish();
}

TEST(what_a_sink_returns_stops_the_pass)
{
    for (stop_at = ITEM_OPENED; stop_at < ITEM_SAMPLE; stop_at++) {
        const struct event events[] = {
            {.time_ns = 1, .kind = EVENT_PUSH},
            {.time_ns = 2, .kind = EVENT_MARK},
            {.time_ns = 3, .kind = EVENT_COUNTER},
            {.time_ns = 4, .kind = EVENT_FLOW_BEGIN},
            {.time_ns = 5, .kind = EVENT_LOST, .end_ns = 6, .depth = 1},
            {.time_ns = 7, .kind = EVENT_END, .id = 9},
            {.time_ns = 8, .kind = EVENT_POP},
            {.time_ns = 9, .kind = EVENT_EDGE},
        };
        int kind = stop_at, status = 1;
        begin();
        stop_at = kind;
        for (size_t i = 0; status == 1 && i < sizeof(events) / sizeof(*events); i++)
            status = try_feed(&events[i]);
        CHECK_INT(status, 42);
        finish();
    }
}

/* A table by thread must not grow to a number from a damaged file. */
TEST(threads_that_the_trace_does_not_know_have_no_events)
{
    for (int in_time = 0; in_time < 2; in_time++) {
        begin();
        pass_destroy(pass);
        wants = in_time ? WANT_TIME_ORDER : 0;
        make_pass(&PASS_SELECT_ALL);
        wants = 0;
        const struct event foreign = {.thread = UINT32_MAX - 1, .time_ns = 5, .kind = EVENT_MARK};
        CHECK_INT(try_feed(&foreign), 1);
        CHECK_INT(pass_run(pass), 0);
        CHECK_INT(out_count, 0);
        CHECK_INT(pass_counts(pass)->events[EVENT_MARK], 0);
        finish();
    }
}

static uint64_t last_number;

static int take_number(void *context, const struct item *item)
{
    (void)context;
    last_number = item->number;
    return 0;
}

static uint64_t next_number(int64_t time_ns)
{
    push(0, time_ns, 1);
    pop(0, time_ns + 1, 0);
    return last_number;
}

TEST(ranges_have_the_numbers_of_the_program_until_records_vanish)
{
    begin();
    pass_destroy(pass);
    trace_process(trace, 0)->identity = UINT64_C(0x123456789abcdef0);
    trace_thread(trace, 0)->serial = 1;
    const struct pass_source source = {.trace = trace, .next_events = next_events};
    const struct sink sink = {take_number, NULL, WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS};
    pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    uint64_t first = next_number(10), second = next_number(20);
    CHECK(first != 0 && second != 0 && first != second);
    feed((struct event){.time_ns = 30, .end_ns = 31, .kind = EVENT_LOST, .level = LOSS_POOL_FULL});
    uint64_t third = next_number(40);
    CHECK(third != 0 && third != first && third != second);
    feed(
        (struct event){.time_ns = 50, .end_ns = 51, .kind = EVENT_LOST, .level = LOSS_OVERWRITTEN});
    CHECK_INT(next_number(60), 0);
    finish();
}

static uint64_t random_state = 99;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* A thread of the plain model: an array of the names and times of pushes. */
struct model {
    uint32_t names[64];
    int64_t times[64];
    uint32_t depth;
};

static void check_last(const struct model *model, int64_t end_ns)
{
    const struct out *last = &out[out_count - 1];
    CHECK_INT(last->name, model->names[model->depth]);
    CHECK_INT(last->begin_ns, model->times[model->depth]);
    CHECK_INT(last->end_ns, end_ns);
    CHECK_INT(last->depth, model->depth);
    CHECK_INT(last->flags, 0);
    CHECK_INT(last->parent, model->depth ? model->names[model->depth - 1] : 0);
}

TEST(random_nesting_agrees_with_a_plain_model)
{
    struct model models[3] = {0};
    size_t pops = 0;
    begin();
    for (int64_t time_ns = 1; time_ns < 60000; time_ns++) {
        uint32_t thread = (uint32_t)(next_random() % 3);
        struct model *model = &models[thread];
        if (model->depth == 0 || (model->depth < 64 && next_random() % 2)) {
            uint32_t name = (uint32_t)(next_random() % 1000 + 1);
            model->names[model->depth] = name;
            model->times[model->depth++] = time_ns;
            push(thread, time_ns, name);
        } else {
            pop(thread, time_ns, --model->depth);
            check_last(model, time_ns);
            pops++;
        }
    }
    CHECK_INT(out_count, pops);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(out_count, pops + models[0].depth + models[1].depth + models[2].depth);
    finish();
}

TEST(ten_thousand_deep_push_nests_and_unwinds)
{
    begin();
    for (uint32_t i = 0; i < 10000; i++)
        push(0, i, i + 1);
    for (uint32_t i = 10000; i-- > 0;)
        pop(0, 20000 + i, i);
    CHECK_INT(out_count, 10000);
    CHECK_INT(out[0].depth, 9999);
    CHECK_INT(out[0].parent, 9999);
    CHECK_INT(out[9999].depth, 0);
    finish();
}

TEST(pops_that_do_not_fit_end_nothing)
{
    begin();
    push(0, 10, 1);
    push(0, 20, 2);
    pop(0, 30, 2); /* depth above the open ranges */
    CHECK_INT(out_count, 1);
    CHECK_INT(out[0].kind, ITEM_ORPHAN);
    lost(0, 40, 50, 1);
    pop(0, 60, 1); /* of a range that the gap has ended */
    CHECK_INT(pass_counts(pass)->orphans, 2);
    pop(0, 70, 0);
    check_span(4, 1, 10, 70, 0);
    finish();
}
