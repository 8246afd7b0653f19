/* SPDX-License-Identifier: MIT */
/* Any sequence of events and samples for the statistics: no crash, and every range, mark, counter
 * value and sample is in exactly one row, even with losses around it. Running, runnable and blocked
 * time add up.
 *
 * The first byte chooses the grouping and the limits. Then each event is 6 bytes: kind, thread,
 * name, domain, time step, depth or id. With the highest bit of the kind set, it is a sample:
 * flags, thread, path, stack, time step, weight. */
#include "made_sample.h"
#include "pass.h"
#include "range_stats.h"
#include "report.h"
#include "report_functions.h"
#include "stacks.h"

#include <assert.h>
#include <stdlib.h>

enum { THREADS = 6, NAMES = 16, EVENT_BYTES = 6, LABEL_SIZE = 64, STACKS = 40, ITEMS_MAX = 4096 };

/* The decoded input. */
static struct script {
    struct event events[ITEMS_MAX];
    struct sample samples[ITEMS_MAX];
    uint32_t event_count, sample_count, next_event;
    bool samples_read;
} script;

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
    for (uint32_t i = 1; i < 3; i++)
        trace_scope_of_domain(trace, i);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process_add(trace);
        trace_thread_add(trace, i / 2);
        trace_thread(trace, i)->serial = i % 3;
    }
    /* Two processes that are each the other's parent. */
    for (uint32_t i = 1; i < 3; i++) {
        trace_process(trace, i)->forked = true;
        trace_process(trace, i)->fork_ns = 300;
        trace_process(trace, i)->fork_thread = 1 + (i == 1 ? 4 : 2);
    }
    for (uint32_t i = 1; i < STACKS; i++) {
        const struct label label = {.kind = (uint8_t)(i % 8), .text = i % 7};
        int64_t made = stacks_label(trace_stacks(trace), &label);
        const struct frame frame = {
            .kind = (uint8_t)(i % 8), .label = (uint32_t)made, .line = (int32_t)i};
        made = stacks_frame(trace_stacks(trace), &frame);
        stacks_push(trace_stacks(trace), i / 3, (uint32_t)made);
        stacks_path(trace_stacks(trace), i / 2, 1 + i % NAMES);
    }
    return trace;
}

static struct sample decode_sample(const uint8_t *bytes, int64_t *times)
{
    struct sample sample = {.flags = bytes[0] & 31,
                            .thread = bytes[1] % THREADS,
                            .path = bytes[2] % STACKS,
                            .stack = bytes[3] % STACKS,
                            .native_end = bytes[3],
                            .reason = bytes[2]};
    sample.time_ns = times[sample.thread] + bytes[4] - 100;
    if (!(bytes[0] & 64))
        return made_cpu(sample, bytes[5]);
    sample.end_ns = sample.time_ns + bytes[5];
    return made_wait(sample, bytes[0] & 32 ? sample.time_ns + bytes[5] / 2 : 0);
}

static int next_batch(void *context, struct event_batch *ret_batch)
{
    (void)context;
    if (script.next_event == script.event_count)
        return 0;
    const struct event *event = &script.events[script.next_event++];
    *ret_batch = (struct event_batch){.thread = event->thread, .count = 1, .events = event};
    return 1;
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    (void)context;
    *ret_batch = (struct sample_batch){script.samples, script.sample_count, INT64_MIN};
    bool more = !script.samples_read && script.sample_count > 0;
    script.samples_read = true;
    return more;
}

static void start_again(void)
{
    script.next_event = 0;
    script.samples_read = false;
}

/* Sums to compare with those of the rows. */
struct sums {
    struct frame_stats *frames;
    struct own_time *own;
    struct wall *wall;
    struct sample_stats samples;
    uint64_t cpu_ns;
};

/* Each wait has a place, and each moment of the wall time counts once. */
static void check_waits(struct sums *sums)
{
    const struct own_wait *waits;
    uint64_t blocked_ns = 0;
    uint32_t count = own_time_waits(sums->own, &waits);
    for (uint32_t i = 0; i < count; i++)
        blocked_ns += waits[i].blocked_ns;
    assert(blocked_ns == sums->samples.all.blocked_ns);
    assert(own_time_totals(sums->own)->cpu_ns == sums->samples.all.cpu_ns);
    const struct wall_totals *wall = wall_totals(sums->wall);
    assert(wall->running_ns + wall->runnable_ns + wall->blocked_ns + wall->short_ns +
               wall->absent_ns ==
           wall->wall_ns);
}

static int take_sample(void *context, const struct item *item)
{
    struct sums *sums = context;
    const struct sample *sample = item->sample;
    sums->cpu_ns += sample_cpu_ns(NULL, sample);
    sample_stats_add(&sums->samples, sample);
    frame_stats_add(sums->frames, sample);
    int rc = own_time_add(sums->own, sample);
    assert(rc == 0);
    rc = wall_add(sums->wall, sample);
    assert(rc == 0);
    return 0;
}

/* The CPU time of the rows, each counted once, equals that of the samples. */
static void check_samples(const struct range_stats *stats, struct sums *sums)
{
    const struct function_row *functions;
    int rc = own_time_finish(sums->own);
    assert(rc == 0);
    rc = wall_finish(sums->wall, sums->own, INT64_MIN / 4, INT64_MAX / 4);
    assert(rc == 0);
    check_waits(sums);
    uint64_t self_ns = range_stats_totals(stats)->cpu_outside_ns;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        self_ns += range_kind_has_cpu(row->kind) ? row->cpu_self_ns : 0;
        assert(row->kind != RANGE_PUSHED ||
               row->runnable_ns + row->blocked_ns <= row->total_ns - row->nested_ns);
    }
    assert(self_ns == sums->cpu_ns && sums->samples.all.cpu_ns == sums->cpu_ns);
    frame_stats_finish(sums->frames);
    uint64_t weight = 0;
    uint32_t count = frame_stats_sort(sums->frames, FRAME_ORDER_SELF, &functions);
    for (uint32_t i = 0; i < count; i++)
        weight += functions[i].self_ns;
    assert(weight == frame_stats_totals(sums->frames)->total_ns);
}

/* Reads all of the script in one pass. */
static void read_all(struct trace *trace, struct range_stats *stats)
{
    const struct pass_source source = {
        .trace = trace, .next_events = next_batch, .next_samples = next_samples};
    struct sums sums = {.frames = frame_stats_create(trace, (struct sample_weight){0}),
                        .own = own_time_create(trace),
                        .wall = wall_create(trace, &PASS_SELECT_ALL)};
    const struct sink sinks[] = {range_stats_sink(stats),
                                 {take_sample, &sums, WANT_SAMPLES | WANT_PATHS}};
    if (!sums.frames || !sums.own || !sums.wall || sample_stats_init(&sums.samples, trace) != 0)
        abort();
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, sinks, 2);
    int rc = pass ? pass_run(pass) : -1;
    assert(rc == 0);
    rc = range_stats_finish(stats, pass);
    assert(rc == 0);
    check_samples(stats, &sums);
    pass_destroy(pass);
    sample_stats_fini(&sums.samples);
    frame_stats_destroy(sums.frames);
    own_time_destroy(sums.own);
    wall_destroy(sums.wall);
}

static struct event decode(const uint8_t *bytes, int64_t *times)
{
    struct event event = {.kind = bytes[0] % (EVENT_KINDS + 1)};
    event.thread = bytes[1] % THREADS;
    event.name = bytes[2] % (NAMES + 3); /* some are unknown */
    event.scope = bytes[3] % 4;          /* the last is unknown */
    times[event.thread] += bytes[4] * (int64_t)bytes[4];
    event.time_ns = times[event.thread];
    event.id = bytes[5] % 32;
    event.lane = (uint32_t)event.id;
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

/* The rows of each kind have the same totals as the events. */
static void check_rows(const struct range_stats *stats, const uint64_t *expected)
{
    const uint64_t wanted[RANGE_KIND_COUNT] = {
        [RANGE_PUSHED] = expected[EVENT_PUSH],
        [RANGE_OVERLAPPING] = expected[EVENT_START],
        [RANGE_MARK] = expected[EVENT_MARK] + expected[EVENT_TRACK_MARK],
        [RANGE_COUNTER] = expected[EVENT_COUNTER],
        [RANGE_TRACK] = expected[EVENT_TRACK_BEGIN] + expected[EVENT_SPAN],
    };

    uint64_t counts[RANGE_KIND_COUNT] = {0};
    char label[LABEL_SIZE];
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        counts[row->kind] += row->count;
        if (!row->count)
            continue;
        assert(range_stats_label(stats, i, label, sizeof(label)) < sizeof(label));
        assert(row->process_count <= row->thread_count && row->thread_count <= THREADS);
        for (enum range_column column = 0; column <= RANGE_COLUMN_BLOCKED; column++)
            range_stats_value(stats, i, column);
        if (row->kind == RANGE_PUSHED || row->kind == RANGE_TRACK) {
            assert(row->self_ns <= row->total_ns && row->nested_ns <= row->total_ns);
            assert(range_stats_quantile(stats, i, 0.5) <= row->max_ns);
        }
    }
    for (unsigned kind = 0; kind < RANGE_KIND_COUNT; kind++)
        assert(counts[kind] == wanted[kind]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct trace *trace;
    int64_t times[THREADS] = {0};
    script.event_count = script.sample_count = 0;
    start_again();
    uint64_t expected[EVENT_KINDS + 1] = {0};
    if (!trace)
        trace = make_trace();
    if (!trace || size == 0)
        return 0;
    struct range_stats_options options = {.grouping = bytes[0] % 4};
    options.row_limit = bytes[0] & 0x80 ? 3 + bytes[0] % 16 : 0;
    options.histogram_limit_bytes = bytes[0] & 0x40 ? 1 : 0;
    for (size_t at = 1; at + EVENT_BYTES <= size; at += EVENT_BYTES) {
        if (script.event_count == ITEMS_MAX || script.sample_count == ITEMS_MAX)
            break;
        if (bytes[at] & 0x80)
            script.samples[script.sample_count++] = decode_sample(bytes + at, times);
        else
            script.events[script.event_count++] = decode(bytes + at, times);
    }
    struct range_stats *stats = range_stats_create(trace, &options);
    struct event_batch batch;
    if (!stats)
        return 0;
    while (next_batch(NULL, &batch) == 1)
        expected[batch.events->kind]++;
    start_again();
    read_all(trace, stats);
    check_rows(stats, expected);
    uint32_t *rows = NULL;
    int64_t sorted =
        range_stats_sort(stats, RANGE_PUSHED, size % (RANGE_COLUMN_BLOCKED + 1), &rows);
    assert(sorted >= 0 && sorted <= range_stats_row_count(stats));
    free(rows);
    range_stats_destroy(stats);
    return 0;
}
