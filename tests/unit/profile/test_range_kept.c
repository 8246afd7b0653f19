/* SPDX-License-Identifier: MIT */
/* Individual durations of ranges: all in order while there is room, then evenly fewer. */
#include "range_stats.h"
#include "test.h"

#include "event.h"
#include "pass.h"
#include "trace.h"

enum { RANGES_MAX = 5000 };

static struct event events[2 * RANGES_MAX];

struct source_state {
    bool told;
    uint32_t count;
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    struct source_state *state = context;
    *ret_batch = (struct event_batch){.thread = 0, .count = state->count, .events = events};
    state->told = !state->told;
    return state->told;
}

/* Ranges of 1, 2, 3, ... ns; returns the number kept per row. */
static const struct range_duration *keep(struct trace *trace, uint32_t ranges, uint32_t limit,
                                         struct range_stats **ret_stats, uint32_t *ret_count)
{
    const struct range_stats_options options = {.durations = limit};
    struct source_state state = {.count = 2 * ranges};
    const struct pass_source source = {
        .trace = trace, .next_events = next_events, .context = &state};
    const struct pass_selection all = PASS_SELECT_ALL;
    uint32_t name = (uint32_t)trace_string_add(trace, "step", 4);
    int64_t now = 1000;
    for (uint32_t i = 0; i < ranges; i++) {
        events[2 * i] = (struct event){.kind = EVENT_PUSH, .name = name, .time_ns = now};
        now += i + 1;
        events[2 * i + 1] = (struct event){.kind = EVENT_POP, .time_ns = now};
    }
    *ret_stats = range_stats_create(trace, &options);
    CHECK(*ret_stats != NULL);
    const struct sink sink = range_stats_sink(*ret_stats);
    struct pass *pass = pass_create(&source, &all, &sink, 1);
    CHECK(pass != NULL);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(range_stats_finish(*ret_stats, pass), 0);
    pass_destroy(pass);
    for (uint32_t i = 0; i < range_stats_row_count(*ret_stats); i++)
        if (range_stats_row(*ret_stats, i)->count == ranges)
            return range_stats_durations(*ret_stats, i, ret_count);
    *ret_count = 0;
    return NULL;
}

static struct trace *one_thread(void)
{
    struct trace *trace = trace_create();
    CHECK(trace != NULL);
    int64_t process = trace_process_add(trace);
    CHECK_INT(trace_thread_add(trace, (uint32_t)process), 0);
    return trace;
}

TEST(all_durations_are_kept_in_their_order)
{
    struct trace *trace = one_thread();
    struct range_stats *stats;
    uint32_t count;
    const struct range_duration *kept = keep(trace, 100, 128, &stats, &count);
    CHECK_INT(count, 100);
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(kept[i].duration_ns, i + 1);
    range_stats_destroy(stats);
    trace_destroy(trace);
}

TEST(of_too_many_every_so_manieth_is_kept)
{
    static const uint32_t counts[] = {128, 129, 255, 256, 257, 1000, RANGES_MAX};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct trace *trace = one_thread();
        struct range_stats *stats;
        uint32_t count;
        const struct range_duration *kept = keep(trace, counts[i], 128, &stats, &count);
        CHECK(count > 60 && count <= 128);
        uint64_t step = kept[1].duration_ns - kept[0].duration_ns;
        for (uint32_t at = 0; at < count; at++)
            CHECK_INT(kept[at].duration_ns, 1 + at * step);
        CHECK(kept[count - 1].duration_ns + step > counts[i]);
        range_stats_destroy(stats);
        trace_destroy(trace);
    }
}

TEST(none_are_kept_unless_asked_for)
{
    struct trace *trace = one_thread();
    struct range_stats *stats;
    uint32_t count;
    CHECK(keep(trace, 100, 0, &stats, &count) == NULL);
    CHECK_INT(count, 0);
    range_stats_destroy(stats);
    trace_destroy(trace);
}
