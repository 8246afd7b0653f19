/* SPDX-License-Identifier: MIT */
/* The time for which ranges did not run equals a count of each nanosecond, independent of the delay
 * of samples and of the selection. */
#include "lane_samples.h"
#include "made_sample.h"
#include "pass_state.h"
#include "test.h"
#include "trace_maker.h"

enum { THREADS = 3, SPAN = 600, STRETCHES = 40, RANGES = 60, ROUNDS = 200 };

/* State of each nanosecond of a thread. */
enum state { RUNNING, RUNNABLE, BLOCKED };

static uint8_t truth[THREADS][SPAN];
static uint64_t random_state;
static struct maker *maker;

/* Samples and events in the order of arrival, with times of the trace. */
static struct sample samples[THREADS * STRETCHES];
static uint32_t sample_count, samples_read;
static struct event events[THREADS * RANGES * 2];
static uint32_t event_count, events_read;
static bool step_by_step; /* samples arrive as the events advance */
static int64_t lag_ns;    /* additional delay of samples */
static bool settles;

static uint32_t below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static void begin(uint64_t seed)
{
    random_state = 88172645463325252 + seed * 7919;
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, -1, "a", 0);
    for (int i = 0; i < THREADS; i++)
        maker_thread(maker, process, 100 + i, "t");
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread(maker_trace(maker), i)->event_count = 1;
    trace_session(maker_trace(maker))->end_ns = SPAN;
    memset(truth, RUNNING, sizeof(truth));
    sample_count = samples_read = event_count = events_read = 0;
    step_by_step = settles = false;
    lag_ns = 0;
}

static void add(uint32_t thread, int64_t begin_ns, int64_t wake_ns, int64_t end_ns)
{
    samples[sample_count++] =
        made_wait((struct sample){.thread = thread,
                                  .time_ns = begin_ns,
                                  .reason = wake_ns < 0 ? WAIT_PREEMPTED : WAIT_LOCK,
                                  .end_ns = end_ns},
                  wake_ns < 0 ? 0 : wake_ns);
    for (int64_t t = begin_ns; t < end_ns && t < SPAN; t++)
        truth[thread][t] = t < wake_ns ? BLOCKED : RUNNABLE;
}

/* Adjacent stretches of each thread; reported in order of their ends. */
static void add_random(void)
{
    int64_t time[THREADS] = {0};
    for (int left = THREADS * STRETCHES; left > 0; left--) {
        uint32_t thread = 0;
        for (uint32_t i = 1; i < THREADS; i++)
            thread = time[i] < time[thread] ? i : thread;
        int64_t begin_ns = time[thread] + 1 + below(20), end_ns = begin_ns + 1 + below(25);
        if (end_ns >= SPAN)
            return;
        bool woken = below(3);
        add(thread, begin_ns, woken ? begin_ns + below((uint32_t)(end_ns - begin_ns) + 1) : -1,
            end_ns);
        time[thread] = end_ns;
    }
}

/* Ranges nest up to 4 deep; some have no end. */
static void add_ranges(void)
{
    uint64_t depth[THREADS] = {0};
    for (int64_t now = 1; now < SPAN && event_count < THREADS * RANGES; now += below(5)) {
        uint32_t thread = below(THREADS);
        bool pop = depth[thread] == 4 || (depth[thread] && below(2));
        depth[thread] -= pop;
        events[event_count] = (struct event){.kind = pop ? EVENT_POP : EVENT_PUSH,
                                             .thread = thread,
                                             .time_ns = now,
                                             .depth = pop ? depth[thread] : 0,
                                             .name = event_count + 1};
        event_count++;
        depth[thread] += !pop;
    }
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    if (events_read == event_count)
        return 0;
    const struct event *event = &events[events_read++];
    *ret_batch = (struct event_batch){.thread = event->thread,
                                      .count = 1,
                                      .events = event,
                                      .settled_ns = settles ? event->time_ns : 0};
    return 1;
}

/* All samples at once, or those due by the time of the last event. */
static int next_samples(void *context, struct sample_batch *ret_batch)
{
    (void)context;
    if (samples_read == sample_count)
        return 0;
    int64_t now = events_read ? events[events_read - 1].time_ns : 0;
    bool all = !step_by_step || events_read == event_count;
    uint32_t first = samples_read;
    while (samples_read < sample_count && (all || samples[samples_read].end_ns + lag_ns <= now))
        samples_read++;
    *ret_batch = (struct sample_batch){.samples = samples + first,
                                       .count = samples_read - first,
                                       .settled_ns = all ? INT64_MIN : now + PATH_EDGE_NS + 1};
    return 1;
}

static uint32_t spans, told_samples;
static const struct pass_selection *selected;

static int check(void *context, const struct item *item)
{
    uint64_t counts[3] = {0};
    (void)context;
    told_samples += item->kind == ITEM_SAMPLE;
    if (item->kind != ITEM_SPAN)
        return 0;
    for (int64_t t = item->begin_ns; t < item->end_ns; t++)
        counts[truth[item->event->thread][t]]++;
    CHECK_INT(item->off.runnable_ns, counts[RUNNABLE]);
    CHECK_INT(item->off.blocked_ns, counts[BLOCKED]);
    CHECK(item->begin_ns >= selected->from_ns && item->end_ns <= selected->to_ns);
    spans++;
    return 0;
}

static uint64_t run(const struct pass_selection *selection, uint32_t more_wants)
{
    const struct pass_source source = {
        .trace = maker_trace(maker), .next_events = next_events, .next_samples = next_samples};
    const struct sink sink = {check, NULL, WANT_EVENTS | WANT_BEGINS | WANT_TIMES | more_wants};
    selected = selection;
    events_read = samples_read = spans = told_samples = 0;
    struct pass *pass = pass_create(&source, selection, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    uint64_t late = pass_counts(pass)->late;
    if (pass_selects_all(selection))
        CHECK_INT(told_samples, more_wants ? sample_count : 0);
    pass_destroy(pass);
    return late;
}

/* With paths, samples also wait for them. */
static void run_ways(const struct pass_selection *selection)
{
    run(selection, 0);
    CHECK(spans > 0);
    run(selection, WANT_SAMPLES);
    run(selection, WANT_SAMPLES | WANT_PATHS);
}

static void finish(void)
{
    maker_destroy(maker);
}

TEST(any_range_agrees_with_a_count_of_each_nanosecond)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        begin(round);
        add_random();
        add_ranges();
        settles = round % 2;
        run_ways(&PASS_SELECT_ALL);
        finish();
    }
}

TEST(a_selection_has_what_lies_in_it)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        begin(round);
        add_random();
        add_ranges();
        settles = round % 2;
        struct pass_selection selection = PASS_SELECT_ALL;
        selection.from_ns = 20 + below(100);
        run_ways(&selection);
        selection.to_ns = selection.from_ns + 60 + below(SPAN);
        selection.to_ns = selection.to_ns > SPAN - 300 ? SPAN - 300 : selection.to_ns;
        run_ways(&selection);
        finish();
    }
}

/* Each stretch is reported after its end, or later still; its ranges are still open then. */
TEST(samples_that_come_late_count_for_what_is_open_yet)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        begin(round);
        add_random();
        events[event_count++] =
            (struct event){.kind = EVENT_PUSH, .time_ns = 2, .thread = 0, .name = 1};
        for (int64_t now = 10; now < SPAN; now += 10) /* inside of it, to advance the lane */
            events[event_count++] =
                (struct event){.kind = EVENT_MARK, .time_ns = now, .thread = 0, .name = 2};
        settles = round % 2;
        step_by_step = true;
        lag_ns = below(50);
        run(&PASS_SELECT_ALL, 0);
        CHECK_INT(spans, 1);
        finish();
    }
}

/* At 100 the outer range is open, and the inner one begins. A stretch reported at 150 that ended
 * before 100 belongs only to the outer one; an unfinished one belongs to both. */
static void check_late(int64_t begin_ns, int64_t end_ns)
{
    static const struct event made[] = {
        {.kind = EVENT_PUSH, .time_ns = 10, .name = 1},
        {.kind = EVENT_PUSH, .time_ns = 100, .name = 2},
        {.kind = EVENT_MARK, .time_ns = 150, .name = 3},
        {.kind = EVENT_PUSH, .time_ns = 160, .name = 4},
        {.kind = EVENT_POP, .time_ns = 170, .depth = 2},
        {.kind = EVENT_POP, .time_ns = 180, .depth = 1},
        {.kind = EVENT_POP, .time_ns = 300, .depth = 0},
    };
    for (int way = 0; way < 8; way++) {
        begin(1);
        if (way & 4) /* with an earlier sample */
            add(0, 20, 25, 30);
        add(0, begin_ns, (begin_ns + end_ns) / 2, end_ns);
        memcpy(events, made, sizeof(made));
        event_count = sizeof(made) / sizeof(*made);
        settles = way & 1;
        step_by_step = true;
        lag_ns = 150 - end_ns;
        CHECK_INT(run(&PASS_SELECT_ALL, way & 2 ? WANT_SAMPLES | WANT_PATHS : 0), 1);
        CHECK_INT(spans, 3);
        finish();
    }
}

TEST(a_late_stretch_belongs_to_what_was_open_while_it_lasted)
{
    check_late(50, 80);
    check_late(50, 100);
    check_late(50, 120);
    check_late(90, 165);
    check_late(90, 175);
    check_late(40, 290);
}

TEST(what_overlaps_counts_once)
{
    begin(1);
    add(0, 10, 40, 50); /* cut by the next one: 20 blocked */
    add(0, 30, 35, 60); /* 5 blocked, 25 runnable */
    for (int64_t t = 10; t < 30; t++)
        truth[0][t] = BLOCKED;
    events[event_count++] = (struct event){.kind = EVENT_PUSH, .time_ns = 5, .name = 1};
    run_ways(&PASS_SELECT_ALL);
    CHECK_INT(spans, 1);
    events[event_count++] = (struct event){.kind = EVENT_PUSH, .time_ns = 20, .name = 1};
    events[event_count++] = (struct event){.kind = EVENT_POP, .time_ns = 32, .depth = 1};
    run_ways(&PASS_SELECT_ALL);
    CHECK_INT(spans, 2);
    finish();
}

TEST(a_wait_that_nobody_ended_is_no_lack_of_a_cpu)
{
    begin(1);
    samples[sample_count++] = made_wait(
        (struct sample){
            .time_ns = 10, .end_ns = 60, .reason = WAIT_LOCK, .flags = SAMPLE_UNFINISHED},
        0);
    memset(truth[0] + 10, BLOCKED, 50);
    events[event_count++] = (struct event){.kind = EVENT_PUSH, .time_ns = 5, .name = 1};
    run_ways(&PASS_SELECT_ALL);
    finish();
}

TEST(other_threads_and_samples_on_a_cpu_are_nothing)
{
    begin(1);
    samples[sample_count++] = made_cpu((struct sample){.time_ns = 5, .end_ns = 50}, 100);
    add(1, 10, 20, 30);
    samples[sample_count] = samples[1]; /* of an unknown thread */
    samples[sample_count++].thread = UINT32_MAX - 1;
    events[event_count++] = (struct event){.kind = EVENT_PUSH, .time_ns = 2, .name = 1};
    events[event_count++] =
        (struct event){.kind = EVENT_PUSH, .time_ns = 3, .name = 1, .thread = 1};
    run_ways(&PASS_SELECT_ALL);
    CHECK_INT(spans, 2);
    finish();
}

/* ---- More samples than may wait -------------------------------------------------------------- */

enum { MANY = SAMPLES_WAITING_MAX + SAMPLES_WAITING_MAX / 4, BATCH = 1000 };

static uint32_t many_read;

static int next_of_many(void *context, struct sample_batch *ret_batch)
{
    static struct sample batch[BATCH];
    const int64_t *settled_ns = context;
    uint32_t count = 0;
    for (; count < BATCH && many_read < MANY; many_read++) {
        const struct sample sample = {.time_ns = 10 + 2 * (int64_t)many_read,
                                      .end_ns = 11 + 2 * (int64_t)many_read};
        batch[count++] = many_read % 2 ? made_wait(sample, 0) : made_cpu(sample, 0);
    }
    *ret_batch = (struct sample_batch){batch, count, *settled_ns ? batch->time_ns : INT64_MIN};
    return count > 0;
}

static struct item last_span;

static int count_many(void *context, const struct item *item)
{
    (void)context;
    told_samples += item->kind == ITEM_SAMPLE;
    if (item->kind == ITEM_SPAN)
        last_span = *item;
    return 0;
}

/* One range around all samples: its end is unknown until the end. */
static void check_many(bool recording_ended, bool samples_settle, uint32_t more_wants,
                       uint32_t count)
{
    int64_t settled_ns = samples_settle;
    const struct sink sink = {count_many, NULL,
                              WANT_EVENTS | WANT_BEGINS | WANT_TIMES | more_wants};
    begin(1);
    const struct pass_source source = {.trace = maker_trace(maker),
                                       .next_events = next_events,
                                       .next_samples = next_of_many,
                                       .context = &settled_ns};
    events[event_count++] = (struct event){.kind = EVENT_PUSH, .time_ns = 5, .name = 1};
    events[event_count++] =
        (struct event){.kind = EVENT_MARK, .thread = 1, .time_ns = 10 + 2 * (int64_t)MANY};
    trace_session(maker_trace(maker))->end_ns = recording_ended ? 20 + 2 * (int64_t)MANY : 0;
    trace_process(maker_trace(maker), 0)->end_ns = count < MANY ? 10 + 2 * (int64_t)count : 0;
    many_read = told_samples = 0;
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK_INT(many_read, MANY);
    CHECK_INT(told_samples, more_wants ? MANY : 0);
    CHECK_INT(last_span.off.blocked_ns, count / 2);
    finish();
}

TEST(more_samples_than_may_wait_are_all_told_and_counted)
{
    for (int way = 0; way < 4; way++) {
        check_many(way & 1, way & 2, 0, MANY);
        check_many(way & 1, way & 2, WANT_SAMPLES, MANY);
        check_many(way & 1, way & 2, WANT_SAMPLES | WANT_PATHS, MANY);
        check_many(way & 1, way & 2, WANT_SAMPLES, 1000); /* its process ended early */
    }
}
