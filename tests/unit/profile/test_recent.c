/* SPDX-License-Identifier: MIT */
/* Windows of live data: exact at their edges, with unfinished waits and open ranges; and
 * forgetting. */
#include "made_sample.h"
#include "pass.h"
#include "recent.h"
#include "test.h"
#include "trace_maker.h"

#include <string.h>

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct maker *maker;
static struct recent *recent;
static uint32_t threads[2], stacks[2];

/* Converts to times of the maker's trace. */
static int64_t at(int64_t time_ns)
{
    return MAKER_BEGIN_NS + time_ns;
}

static uint32_t stack_of(const char *function)
{
    return maker_stack(maker, 0,
                       &(struct maker_frame){.kind = FRAME_PYTHON,
                                             .function = function,
                                             .file = "/src/a.py",
                                             .line = 10,
                                             .first_line = 9});
}

static void begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, 1, "python a.py", 0);
    threads[0] = maker_thread(maker, process, 100, "main");
    threads[1] = maker_thread(maker, process, 101, "other");
    stacks[0] = stack_of("one");
    stacks[1] = stack_of("two");
    recent = recent_create(maker_trace(maker), at(0));
    CHECK(recent);
}

static void end(void)
{
    recent_destroy(recent);
    maker_destroy(maker);
}

static void run(int64_t time, uint32_t stack, int64_t cpu_ns)
{
    struct sample sample = {.time_ns = at(time), .thread = threads[0], .stack = stack};
    sample = made_cpu(sample, cpu_ns);
    CHECK_INT(recent_add(recent, &sample), 0);
}

/* A wait of the other thread. */
static void off(int64_t from, int64_t to, unsigned flags)
{
    struct sample sample = {.time_ns = at(from),
                            .end_ns = at(to),
                            .thread = threads[1],
                            .stack = stacks[1],
                            .reason = WAIT_SLEEP,
                            .flags = (uint8_t)flags};
    sample = made_wait(sample, flags & SAMPLE_UNFINISHED ? 0 : at(to));
    CHECK_INT(recent_add(recent, &sample), 0);
}

static int add_times(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct own_times *sum = context;
    (void)moment;
    sum->cpu_ns += times->cpu_ns;
    sum->blocked_ns += times->blocked_ns;
    sum->sample_count += times->sample_count;
    return 0;
}

static struct own_times sum_of(int64_t from, int64_t to, bool all, own_time_wants *wants)
{
    struct own_times sum = {0};
    struct own_time *own = own_time_create(maker_trace(maker));
    const struct recent_part part = {.from_ns = at(from), .to_ns = at(to), .wants = wants};
    CHECK_INT(all ? recent_sum_all(recent, &part, own) : recent_sum(recent, &part, own), 0);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(own_time_every(own, add_times, &sum), 0);
    own_time_destroy(own);
    return sum;
}

TEST(a_window_has_what_lies_in_it)
{
    begin();
    for (int64_t i = 0; i < 1000; i++)
        run(i * 10 * MS, stacks[i % 2], 10 * MS);
    struct own_times sum = sum_of(3 * S, 5 * S, false, NULL);
    CHECK_INT(sum.cpu_ns, 2 * S);
    CHECK_INT(sum.sample_count, 200);
    CHECK_INT(sum_of(0, 10 * S, true, NULL).cpu_ns, 10 * S);
    CHECK_INT(recent_size(recent), 2);
    end();
}

TEST(waits_are_cut_at_the_edges)
{
    begin();
    off(1 * S, 4 * S, 0);
    CHECK_INT(sum_of(2 * S, 3 * S, false, NULL).blocked_ns, 1 * S);
    CHECK_INT(sum_of(0, 2 * S, false, NULL).blocked_ns, 1 * S);
    CHECK_INT(sum_of(4 * S, 9 * S, false, NULL).blocked_ns, 0);
    end();
}

TEST(a_wait_that_goes_on_lasts_to_the_end_of_the_window)
{
    begin();
    recent_renew(recent, at(2 * S));
    off(1 * S, 2 * S, SAMPLE_UNFINISHED);
    CHECK_INT(sum_of(0, 5 * S, false, NULL).blocked_ns, 4 * S);
    CHECK_INT(sum_of(0, 5 * S, true, NULL).blocked_ns, 4 * S);
    recent_renew(recent, at(3 * S));
    off(1 * S, 3 * S, SAMPLE_UNFINISHED);
    CHECK_INT(sum_of(0, 5 * S, false, NULL).blocked_ns, 4 * S);
    off(1 * S, 4 * S, 0); /* it ended */
    CHECK_INT(sum_of(0, 5 * S, false, NULL).blocked_ns, 3 * S);
    CHECK_INT(sum_of(0, 5 * S, true, NULL).blocked_ns, 3 * S);
    end();
}

TEST(one_that_is_told_no_more_has_ended)
{
    begin();
    recent_renew(recent, at(2 * S));
    off(1 * S, 2 * S, SAMPLE_UNFINISHED);
    recent_renew(recent, at(3 * S)); /* the next report is in progress */
    CHECK_INT(sum_of(0, 3 * S, false, NULL).blocked_ns, 2 * S);
    recent_renew(recent, at(4 * S));
    CHECK_INT(sum_of(0, 4 * S, false, NULL).blocked_ns, 0);
    end();
}

TEST(what_is_older_than_a_minute_is_forgotten)
{
    begin();
    run(1 * S, stacks[0], 10 * MS);
    run(50 * S, stacks[0], 10 * MS);
    recent_renew(recent, at(62 * S));
    CHECK_INT(sum_of(0, 62 * S, false, NULL).cpu_ns, 10 * MS);
    CHECK_INT(sum_of(0, 62 * S, true, NULL).cpu_ns, 20 * MS);
    CHECK_INT(recent_kept_ns(recent), at(2 * S));
    end();
}

TEST(too_many_samples_make_the_window_shorter)
{
    begin();
    for (int64_t i = 0; i < RECENT_SAMPLES + 100; i++)
        run(i * 1000, stacks[0], 1000);
    CHECK_INT(recent_kept_ns(recent), at(99 * 1000));
    CHECK_INT(sum_of(0, 60 * S, false, NULL).sample_count, RECENT_SAMPLES);
    CHECK_INT(sum_of(0, 60 * S, true, NULL).sample_count, RECENT_SAMPLES + 100);
    end();
}

TEST(a_reset_begins_anew_in_the_middle_of_a_wait)
{
    begin();
    run(1 * S, stacks[0], 10 * MS);
    CHECK_INT(recent_reset(recent, at(2 * S)), 0);
    off(1 * S, 5 * S, 0);
    CHECK_INT(sum_of(2 * S, 9 * S, true, NULL).blocked_ns, 3 * S);
    CHECK_INT(sum_of(2 * S, 9 * S, true, NULL).cpu_ns, 0);
    CHECK_INT(recent_reset_ns(recent), at(2 * S));
    end();
}

TEST(sums_that_are_held_stay)
{
    begin();
    run(1 * S, stacks[0], 10 * MS);
    CHECK_INT(recent_hold(recent, true), 0);
    run(2 * S, stacks[0], 10 * MS);
    CHECK_INT(sum_of(0, 9 * S, true, NULL).cpu_ns, 10 * MS);
    CHECK_INT(recent_last_ns(recent), at(1 * S));
    CHECK_INT(recent_hold(recent, false), 0);
    CHECK_INT(sum_of(0, 9 * S, true, NULL).cpu_ns, 20 * MS);
    end();
}

TEST(a_wait_that_ends_during_a_hold_stays_in_the_sums)
{
    begin();
    recent_renew(recent, at(2 * S));
    off(1 * S, 2 * S, SAMPLE_UNFINISHED);
    CHECK_INT(recent_hold(recent, true), 0);
    CHECK_INT(sum_of(0, 2 * S, true, NULL).blocked_ns, 1 * S);
    off(1 * S, 4 * S, 0);
    CHECK_INT(sum_of(0, 2 * S, true, NULL).blocked_ns, 1 * S);
    CHECK_INT(recent_hold(recent, false), 0);
    CHECK_INT(sum_of(0, 9 * S, true, NULL).blocked_ns, 3 * S);
    end();
}

static bool is_first(void *context, uint32_t thread)
{
    (void)context;
    return thread == threads[0];
}

TEST(threads_that_are_not_wanted_are_left_out)
{
    begin();
    run(1 * S, stacks[0], 10 * MS);
    off(1 * S, 2 * S, 0);
    CHECK_INT(sum_of(0, 9 * S, false, is_first).blocked_ns, 0);
    CHECK_INT(sum_of(0, 9 * S, true, is_first).blocked_ns, 0);
    CHECK_INT(sum_of(0, 9 * S, true, is_first).cpu_ns, 10 * MS);
    end();
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static struct recent_ranges *ranges;

static uint32_t scope; /* of events */

/* Passes on one event after the other, as they arrive. */
static void tell(uint32_t thread, enum event_kind kind, const char *name, int64_t time)
{
    static uint64_t depth[2];
    depth[thread] = kind == EVENT_PUSH ? depth[thread] + 1 : depth[thread] - 1;
    struct event event = {.time_ns = at(time),
                          .depth = kind == EVENT_POP ? depth[thread] : 0,
                          .thread = thread,
                          .kind = (uint8_t)kind,
                          .scope = scope,
                          .name = name ? maker_string(maker, name) : 0};
    const struct event_batch batch = {.thread = thread, .count = 1, .events = &event};
    CHECK_INT(recent_ranges_add(ranges, &batch), 0);
}

static const struct recent_range *find(const struct recent_range_rows *rows, const char *label)
{
    for (size_t i = 0; i < rows->items.count; i++)
        if (strcmp(rows->items.items[i].label, label) == 0)
            return &rows->items.items[i];
    return NULL;
}

static struct recent_range range_of(const char *label, int64_t from, int64_t to, bool all)
{
    struct recent_range_rows rows = {0};
    const struct recent_part part = {.from_ns = at(from), .to_ns = at(to)};
    CHECK_INT(recent_ranges_rows(ranges, &part, all, &rows), 0);
    const struct recent_range *found = find(&rows, label);
    struct recent_range range = found ? *found : (struct recent_range){0};
    recent_ranges_free(&rows);
    return range;
}

static void begin_ranges(void)
{
    begin();
    ranges = recent_ranges_create(maker_trace(maker), at(0));
    CHECK(ranges);
}

static void end_ranges(void)
{
    recent_ranges_destroy(ranges);
    end();
}

TEST(ranges_of_the_last_seconds)
{
    begin_ranges();
    for (int64_t i = 0; i < 20; i++) {
        tell(threads[0], EVENT_PUSH, "outer", i * S);
        tell(threads[0], EVENT_PUSH, "inner", i * S + 200 * MS);
        tell(threads[0], EVENT_POP, NULL, i * S + 500 * MS);
        tell(threads[0], EVENT_POP, NULL, i * S + 600 * MS);
        CHECK_INT(recent_ranges_settle(ranges, at((i + 1) * S)), 0);
    }
    CHECK_INT(range_of("outer/inner", 10 * S, 20 * S, false).count, 10);
    CHECK_INT(range_of("outer/inner", 10 * S, 20 * S, false).total_ns, 3 * S);
    CHECK_INT(range_of("outer", 18 * S, 20 * S, false).total_ns, 1200 * MS);
    CHECK_INT(range_of("outer", 0, 20 * S, true).count, 20);
    CHECK_INT(range_of("outer", 0, 20 * S, true).open, 0);
    end_ranges();
}

TEST(an_open_range_counts_as_far_as_it_has_come)
{
    begin_ranges();
    tell(threads[1], EVENT_PUSH, "serve", 500 * MS);
    for (int64_t i = 1; i <= 8; i++)
        CHECK_INT(recent_ranges_settle(ranges, at(i * S)), 0);
    CHECK_INT(range_of("serve", 4 * S, 8 * S, false).total_ns, 4 * S);
    CHECK_INT(range_of("serve", 4 * S, 8 * S, false).open, 1);
    CHECK_INT(range_of("serve", 4 * S, 8 * S, false).count, 0);
    CHECK_INT(range_of("serve", 0, 8 * S, true).total_ns, 7500 * MS);
    tell(threads[1], EVENT_POP, NULL, 8500 * MS);
    for (int64_t i = 9; i <= 12; i++)
        CHECK_INT(recent_ranges_settle(ranges, at(i * S)), 0);
    CHECK_INT(range_of("serve", 8 * S, 12 * S, false).total_ns, 500 * MS);
    CHECK_INT(range_of("serve", 8 * S, 12 * S, false).count, 1);
    CHECK_INT(range_of("serve", 9 * S, 12 * S, false).count, 0);
    end_ranges();
}

TEST(ranges_after_a_reset)
{
    begin_ranges();
    tell(threads[0], EVENT_PUSH, "a", 0);
    tell(threads[0], EVENT_POP, NULL, 1 * S);
    tell(threads[1], EVENT_PUSH, "b", 0);
    CHECK_INT(recent_ranges_settle(ranges, at(2 * S)), 0);
    CHECK_INT(recent_ranges_reset(ranges), 0);
    CHECK_INT(recent_ranges_settle(ranges, at(5 * S)), 0);
    CHECK_INT(range_of("a", 0, 5 * S, true).count, 0);
    CHECK_INT(range_of("b", 0, 5 * S, true).total_ns, 3 * S);
    end_ranges();
}

TEST(cpu_time_of_ranges_is_that_of_samples)
{
    begin_ranges();
    uint32_t outer = maker_path(maker, 0, "outer"), inner = maker_path(maker, outer, "inner");
    for (int64_t i = 0; i < 100; i++) {
        struct sample sample = {
            .time_ns = at(i * 10 * MS), .thread = threads[0], .path = i % 4 ? inner : outer};
        sample = made_cpu(sample, 10 * MS);
        CHECK_INT(recent_ranges_add_sample(ranges, &sample), 0);
    }
    CHECK_INT(range_of("outer", 0, 1 * S, true).cpu_ns, 0);
    CHECK_INT(recent_ranges_settle(ranges, at(1 * S)), 0);
    CHECK_INT(range_of("outer", 0, 1 * S, true).cpu_ns, 1 * S);
    CHECK_INT(range_of("outer", 0, 1 * S, true).cpu_self_ns, 250 * MS);
    CHECK_INT(range_of("outer/inner", 0, 1 * S, true).cpu_ns, 750 * MS);
    CHECK_INT(range_of("outer/inner", 500 * MS, 1 * S, false).cpu_ns, 380 * MS);
    end_ranges();
}

static void tell_cpu(uint32_t path, int64_t time)
{
    struct sample sample = {.time_ns = at(time), .thread = threads[0], .path = path};
    sample = made_cpu(sample, 10 * MS);
    CHECK_INT(recent_ranges_add_sample(ranges, &sample), 0);
}

/* A sampler reads only names. Samples arrive in any order, before events do. */
TEST(cpu_time_is_that_of_the_domain)
{
    const char *const domains[] = {"io", "", "net"};
    begin_ranges();
    uint32_t step = maker_path(maker, 0, "step"), inner = maker_path(maker, step, "step");
    uint32_t early = maker_path(maker, 0, "before"), late = maker_path(maker, early, "step");
    for (int64_t i = 3; i-- > 0;) {
        tell_cpu(inner, (100 * i + 50) * MS);
        tell_cpu(step, (100 * i + 20) * MS);
    }
    tell_cpu(late, 20 * MS + 1); /* it encloses ranges opened before the session */
    for (int64_t i = 0; i < 3; i++) {
        scope = maker_scope(maker, domains[i], NULL);
        tell(threads[0], EVENT_PUSH, "step", 100 * i * MS);
        scope = maker_scope(maker, "inner", NULL);
        tell(threads[0], EVENT_PUSH, "step", (100 * i + 40) * MS);
        tell(threads[0], EVENT_POP, NULL, (100 * i + 60) * MS);
        tell(threads[0], EVENT_POP, NULL, (100 * i + 90) * MS);
    }
    scope = 0;
    CHECK_INT(recent_ranges_settle(ranges, at(1 * S)), 0);
    for (int all = 0; all < 2; all++) {
        CHECK_INT(range_of("io:step", 0, 1 * S, all).cpu_ns, 20 * MS);
        CHECK_INT(range_of("io:step", 0, 1 * S, all).cpu_self_ns, 10 * MS);
        CHECK_INT(range_of("io:step/inner:step", 0, 1 * S, all).cpu_ns, 10 * MS);
        CHECK_INT(range_of("step", 0, 1 * S, all).cpu_ns, 20 * MS);
        CHECK_INT(range_of("step/inner:step", 0, 1 * S, all).cpu_ns, 10 * MS);
        CHECK_INT(range_of("net:step", 0, 1 * S, all).cpu_ns, 20 * MS);
        CHECK_INT(range_of("before/io:step", 0, 1 * S, all).cpu_ns, 10 * MS);
    }
    end_ranges();
}
