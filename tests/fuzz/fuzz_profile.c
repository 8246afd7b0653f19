/* SPDX-License-Identifier: MIT */
/* Any sequence of events into the statistics: nothing crashes, and every range, mark and counter
 * value arrives in exactly one row, whatever was lost around it.
 *
 * The first byte chooses the grouping and the limits; then 6 bytes are an event: kind, thread,
 * name, domain, time step, depth or id. */
#include "range_stats.h"

#include <assert.h>
#include <stdlib.h>

enum { THREADS = 6, NAMES = 16, EVENT_BYTES = 6, LABEL_SIZE = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    if (!trace)
        return NULL;
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        trace_string_add(trace, name, 1);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process_add(trace);
        trace_thread_add(trace, i / 2);
    }
    return trace;
}

static struct event decode(const uint8_t *bytes, int64_t *times)
{
    struct event event = {.kind = bytes[0] % (EVENT_KIND_COUNT + 1)};
    event.thread = bytes[1] % THREADS;
    event.name = bytes[2] % (NAMES + 3); /* some are unknown */
    event.domain = bytes[3] % 4;
    times[event.thread] += bytes[4] * (int64_t)bytes[4];
    event.time_ns = times[event.thread];
    event.id = bytes[5] % 32;
    if (event.kind == EVENT_LOST) {
        event.end_ns = times[event.thread] += bytes[3];
        event.value.uint64 = bytes[2];
        event.level = bytes[4];
    } else {
        event.value_kind = bytes[4] % 6;
        event.value.uint64 = bytes[5] * 0x0101010101010101ull;
    }
    return event;
}

/* The same numbers as the events had, in the rows of each kind. */
static void check_rows(const struct range_stats *stats, const uint64_t *expected)
{
    static const enum event_kind kinds[RANGE_KIND_COUNT] = {EVENT_PUSH, EVENT_START, EVENT_MARK,
                                                            EVENT_COUNTER};

    uint64_t counts[RANGE_KIND_COUNT] = {0};
    char label[LABEL_SIZE];
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        counts[row->kind] += row->count;
        if (!row->count)
            continue;
        assert(range_stats_label(stats, i, label, sizeof(label)) < sizeof(label));
        assert(row->process_count <= row->thread_count && row->thread_count <= THREADS);
        for (enum range_column column = 0; column <= RANGE_COLUMN_LOST; column++)
            range_stats_value(stats, i, column);
        if (row->kind == RANGE_PUSHED) {
            assert(row->self_ns <= row->total_ns && row->nested_ns <= row->total_ns);
            assert(range_stats_quantile(stats, i, 0.5) <= row->max_ns);
        }
    }
    for (unsigned kind = 0; kind < RANGE_KIND_COUNT; kind++)
        assert(counts[kind] == expected[kinds[kind]]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct trace *trace;
    int64_t times[THREADS] = {0};
    uint64_t expected[EVENT_KIND_COUNT + 1] = {0};
    if (!trace)
        trace = make_trace();
    if (!trace || size == 0)
        return 0;
    struct range_stats_options options = {.grouping = bytes[0] % 4};
    options.row_limit = bytes[0] & 0x80 ? 3 + bytes[0] % 16 : 0;
    options.histogram_limit_bytes = bytes[0] & 0x40 ? 1 : 0;
    struct range_stats *stats = range_stats_create(trace, &options);
    if (!stats)
        return 0;
    for (size_t at = 1; at + EVENT_BYTES <= size; at += EVENT_BYTES) {
        struct event event = decode(bytes + at, times);
        struct event_batch batch = {.thread = event.thread, .count = 1, .events = &event};
        expected[event.kind]++;
        int rc = range_stats_add(stats, &batch);
        assert(rc == 0);
    }
    int rc = range_stats_finish(stats);
    assert(rc == 0);
    check_rows(stats, expected);
    uint32_t *rows = NULL;
    int64_t sorted = range_stats_sort(stats, RANGE_PUSHED, size % (RANGE_COLUMN_LOST + 1), &rows);
    assert(sorted >= 0 && (uint64_t)sorted <= expected[EVENT_PUSH]);
    free(rows);
    range_stats_destroy(stats);
    return 0;
}
