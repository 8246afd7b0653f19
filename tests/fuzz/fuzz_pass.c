/* SPDX-License-Identifier: MIT */
/* Any events and samples, and any selection of them: every reported item is inside the selection
 * and inside its parent, and times add up. Every begin has an end, and each sample is reported
 * once. Reading lane by lane and in time order gives the same result.
 *
 * Four bytes choose: from, to, threads, and the bits of enum choice. Each event is 7 bytes, as in
 * fuzz_export.c: kind and number of key-values, thread, name, time step, depth or id, value,
 * attributes. Kind 0 is a sample. */
#include "made_sample.h"
#include "pass.h"
#include "stacks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 5,
    NAMES = 4,
    PATHS = 6,
    CHOICE_BYTES = 4,
    RECORD_BYTES = 7,
    VALUES_MAX = 3,
    RECORDS_MAX = 2000,
    LANES = THREADS + 8, /* tracks after threads */
    DEPTH_MAX = RECORDS_MAX + 1,
    BEGIN_NS = 1000,
};

enum choice {
    ONE_RANGE = 1,  /* items inside of "lo*" */
    ONE_CLOCK = 2,  /* all threads share one clock: events come in order */
    SETTLED = 4,    /* both sources report a lower bound of future times */
    CUT_SHORT = 8,  /* the end of the recording is unknown */
    BACKWARDS = 16, /* times of a thread may go back */
    FEW_AT_A_TIME = 32,
    PROBED = 64, /* an observer reports some threads, and their events wait */
};

struct script {
    struct trace *trace;
    uint8_t choices;
    struct event events[RECORDS_MAX];
    struct arg args[VALUES_MAX];
    int64_t settled_ns[RECORDS_MAX + 1];
    uint32_t event_count, next_event;
    struct sample samples[RECORDS_MAX];
    int64_t samples_settled_ns[RECORDS_MAX + 1];
    uint32_t sample_count, next_sample;
    int64_t times[THREADS];
    uint16_t launches;
    bool unsaid; /* an observer reports a thread that is not known */
};

/* The reported items. */
struct totals {
    const struct pass_selection *selection;
    bool in_order; /* times do not go back */
    uint64_t opened[LANE_QUEUE + 1], spans[LANE_QUEUE + 1];
    uint64_t span_ns[LANE_QUEUE + 1], child_ns[LANE_QUEUE + 1];
    int64_t last_end_ns[LANES][DEPTH_MAX + 1]; /* of spans in an open parent */
    uint64_t sum_ns[LANES][DEPTH_MAX + 1];
    uint8_t told[RECORDS_MAX]; /* by sample */
    uint64_t left;             /* items until the sink stops */
    uint64_t digest;           /* of everything reported about events */
    uint64_t origins;          /* of queue items with their origin, in any order */
    struct pass_counts counts;
};

static struct script script;
/* Without runs of pushes and pops: each has a number. */
static struct totals in_lanes, one_by_one, in_time, stopped, with_origins, origins_in_time;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* ---- The input ------------------------------------------------------------------------------- */

static void add_paths(struct trace *trace)
{
    for (uint32_t i = 1; i <= PATHS; i++) {
        const struct range_path path = {.parent = i / 2, .name = i % NAMES + 1, .kind = i == 5};
        assert(stacks_path_add(trace_stacks(trace), &path) == i);
    }
}

/* Three processes, each forked by the previous one. */
static void make_trace(void)
{
    static const char *const names[NAMES] = {"load", "loop", "store", "x"};
    struct trace *trace = script.trace = trace_create();
    assert(trace);
    for (uint32_t i = 0; i < NAMES; i++)
        assert(trace_string_add(trace, names[i], strlen(names[i])) == i + 1);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process_add(trace);
        trace_thread_add(trace, i / 2);
        trace_thread(trace, i)->tid = (int32_t)i;
        trace_thread(trace, i)->event_count = i != 3;
        trace_thread(trace, i)->probed = i < 2 && (script.choices & PROBED);
    }
    for (uint32_t i = 1; i < 3; i++) {
        struct trace_process *process = trace_process(trace, i);
        process->forked = true;
        process->fork_ns = BEGIN_NS + 100 * i;
        process->fork_thread = 2 * i - 1;
        process->ns_pid = (int32_t)(2 * i);
    }
    for (uint64_t i = 0; i < 3; i++)
        trace_lane_add(trace, i + 1);
    trace_lane_of(trace, LANE_QUEUE, (script.choices & PROBED) ? 0 : 2, 7);
    const struct sample_set launches = {
        .name = 1, .flags = SAMPLE_SET_LAUNCH, .count = 1, .types = {VALUE_TYPE_CALLS}};
    script.launches = (uint16_t)sample_sets_add(trace_sets(trace), &launches);
    add_paths(trace);
}

static int64_t step(uint32_t thread, uint8_t byte)
{
    int64_t *clock = &script.times[script.choices & ONE_CLOCK ? 0 : thread];
    bool back = (script.choices & BACKWARDS) && (int8_t)byte < -100;
    return BEGIN_NS + (*clock += back ? -5 : byte);
}

static void add_event(const uint8_t *bytes)
{
    uint32_t value_count = bytes[0] >> 6;
    struct event event = {.kind = bytes[0] % EVENT_KINDS, .thread = bytes[1] % THREADS};
    event.name = bytes[2] % (NAMES + 1);
    event.time_ns = step(event.thread, bytes[3]);
    event.id = bytes[4] % 8;
    event.lane = event.id == 7 ? EVENT_OWN_LANE : (uint32_t)event.id; /* of any thread */
    event.level = bytes[6] >> 5;
    if (event.kind == EVENT_SPAN) {
        event.end_ns = event.time_ns + bytes[6] - 4;
        event.origin_ns = bytes[5] == 0 ? EVENT_NO_ORIGIN : event.time_ns - bytes[5];
    }
    if (event.kind == EVENT_LOST) {
        event.end_ns = event.time_ns + bytes[6] - 4; /* also before its begin */
        step(event.thread, script.choices & BACKWARDS ? 0 : bytes[6]);
    }
    event.arg_count = (uint16_t)value_count;
    script.unsaid |=
        event_is_own_span(&event) && !trace_thread_get(script.trace, event.thread)->probed;
    script.events[script.event_count++] = event;
}

/* The stack identifies the sample. */
static void add_sample(const uint8_t *bytes)
{
    bool off = bytes[2] & 1;
    struct sample sample = {.thread = bytes[1] % (THREADS + 1),
                            .stack = script.sample_count,
                            .path = bytes[4] % (PATHS + 1),
                            .flags = (bytes[2] & 2 ? SAMPLE_PATH_KNOWN : 0) |
                                     (bytes[2] & 4 ? SAMPLE_PATH_CUT : 0),
                            .reason = bytes[2] & 8 ? WAIT_PREEMPTED : WAIT_LOCK};
    sample.time_ns = step(sample.thread % THREADS, bytes[3]) - INT64_C(10) * (bytes[0] >> 6);
    sample.end_ns = off ? sample.time_ns + (int8_t)bytes[5] : 0;
    sample =
        off ? made_wait(sample, bytes[6] ? sample.time_ns + bytes[6] - 1 : 0) : made_cpu(sample, 1);
    sample.thread = sample.thread == THREADS ? UINT32_MAX - 1 : sample.thread;
    if (!off && (bytes[2] & 16))
        sample.set = script.launches;
    script.samples[script.sample_count++] = sample;
}

static bool is_event(uint8_t kind)
{
    return kind != 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void read_script(const uint8_t *at, const uint8_t *end)
{
    memset(script.times, 0, sizeof(script.times));
    script.event_count = script.sample_count = 0;
    for (uint32_t i = 0; i < RECORDS_MAX && end - at >= RECORD_BYTES; i++, at += RECORD_BYTES)
        is_event(at[0] % EVENT_KINDS) ? add_event(at) : add_sample(at);
    int64_t first_ns = INT64_MAX, last_ns = BEGIN_NS + 2000;
    for (uint32_t i = script.event_count; i-- > 0;) {
        script.settled_ns[i] = first_ns = smaller(first_ns, script.events[i].time_ns);
        int64_t told_ns = event_order_ns(&script.events[i]);
        last_ns = told_ns > last_ns ? told_ns : last_ns;
    }
    first_ns = INT64_MAX;
    script.samples_settled_ns[script.sample_count] = INT64_MAX;
    for (uint32_t i = script.sample_count; i-- > 0;)
        script.samples_settled_ns[i] = first_ns = smaller(first_ns, script.samples[i].time_ns);
    trace_process(script.trace, 0)->end_ns = last_ns; /* others last as long as the recording */
    trace_session(script.trace)->end_ns = script.choices & CUT_SHORT ? 0 : last_ns + 500;
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    uint32_t index = script.next_event;
    (void)context;
    if (index == script.event_count)
        return 0;
    script.next_event++;
    *ret_batch = (struct event_batch){
        .thread = script.events[index].thread,
        .count = 1,
        .events = &script.events[index],
        .args = script.args,
        .settled_ns = script.choices & SETTLED ? script.settled_ns[index] : 0,
    };
    return 1;
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    uint32_t first = script.next_sample, left = script.sample_count - first;
    uint32_t count = (script.choices & FEW_AT_A_TIME) && left > 3 ? 3 : left;
    (void)context;
    script.next_sample += count;
    *ret_batch = (struct sample_batch){
        .samples = script.samples + first,
        .count = count,
        .settled_ns =
            script.choices & SETTLED ? script.samples_settled_ns[first + count] : INT64_MIN,
    };
    return count > 0;
}

/* ---- The reported items ---------------------------------------------------------------------- */

static uint32_t lane_of(const struct item *item)
{
    return item->lane == LANE_TRACK ? THREADS + item->event->lane : item->event->thread;
}

/* Its children are inside of it, so it is inside of its parent. */
static void check_nesting(struct totals *totals, const struct item *item)
{
    uint32_t lane = lane_of(item), depth = item->depth;
    uint64_t length = (uint64_t)(item->end_ns - item->begin_ns);
    int64_t *ends = totals->last_end_ns[lane];
    uint64_t *sums = totals->sum_ns[lane];
    assert(depth < DEPTH_MAX);
    assert((uint64_t)item->child_ns == sums[depth + 1]);
    sums[depth + 1] = 0;
    sums[depth] += length;
    if (!totals->in_order)
        return;
    assert((uint64_t)item->child_ns <= length);
    assert(ends[depth + 1] <= item->end_ns);
    assert(!depth || item->parents[depth - 1]->time_ns <= item->begin_ns);
    ends[depth + 1] = INT64_MIN;
    ends[depth] = item->end_ns > ends[depth] ? item->end_ns : ends[depth];
}

static void check_span(struct totals *totals, const struct item *item)
{
    uint64_t length = (uint64_t)(item->end_ns - item->begin_ns);
    assert(item->end_ns >= item->begin_ns);
    assert(item->off.runnable_ns + item->off.blocked_ns <= length);
    assert(item->end_arg_count <= item->args.count);
    totals->spans[item->lane]++;
    totals->span_ns[item->lane] += length;
    totals->child_ns[item->lane] += (uint64_t)item->child_ns;
    if (item->lane != LANE_PROCESS && item->lane != LANE_QUEUE)
        check_nesting(totals, item);
}

static void add(uint64_t *digest, uint64_t value)
{
    *digest = (*digest ^ value) * 0x9e3779b97f4a7c15u;
    *digest ^= *digest >> 29;
}

/* Hashes everything about an item except its number. */
static void add_item(uint64_t *digest, const struct item *item)
{
    const struct event *event = item->event;
    const uint64_t values[] = {
        item->kind,
        item->lane,
        item->flags,
        item->depth,
        event->thread,
        event->name,
        (uint64_t)event->id,
        event->kind,
        (uint64_t)event->time_ns,
        item->args.count,
        item->begin_ns,
        item->end_arg_count,
        item->end_thread,
        item->end_ns,
        item->child_ns,
        item->off.blocked_ns,
        item->off.runnable_ns,
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        add(digest, values[i]);
    for (uint32_t i = 0; i < item->args.count; i++)
        add(digest, item->args.items[i].value.uint64);
    for (uint32_t i = 0; item->parents && i < item->depth; i++)
        add(digest, (uint64_t)item->parents[i]->time_ns);
}

static uint64_t origin_of(const struct item *item)
{
    uint64_t digest = 1;
    add(&digest, (uint64_t)item->begin_ns);
    add(&digest, item->event->name);
    add(&digest, item->event->thread);
    add(&digest, item->path);
    add(&digest, item->stack);
    return digest;
}

static int take(void *context, const struct item *item)
{
    struct totals *totals = context;
    const struct pass_selection *selection = totals->selection;
    if (totals->left-- == 0)
        return 7;
    if (item->kind == ITEM_SAMPLE) {
        assert(totals->told[item->sample->stack]++ == 0);
        assert(item->sample->time_ns >= selection->from_ns);
        assert(item->end_ns <= selection->to_ns || item->end_ns < item->begin_ns);
        return 0;
    }
    assert(event_known_kind(item->event->kind));
    assert(item->event->time_ns >= selection->from_ns);
    assert(item->begin_ns >= selection->from_ns && item->begin_ns <= selection->to_ns);
    assert(item->end_ns <= selection->to_ns);
    add_item(&totals->digest, item);
    totals->opened[item->lane] += item->kind == ITEM_OPENED;
    if (item->lane == LANE_QUEUE)
        totals->origins += origin_of(item);
    if (item->kind == ITEM_SPAN)
        check_span(totals, item);
    return 0;
}

static void run(struct totals *totals, const struct pass_selection *selection, uint32_t wants,
                uint64_t items)
{
    const struct pass_source source = {
        .trace = script.trace, .next_events = next_events, .next_samples = next_samples};
    const struct sink sink = {take, totals, wants | WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES};
    memset(totals, 0, sizeof(*totals));
    for (int lane = 0; lane < LANES; lane++)
        for (int depth = 0; depth <= DEPTH_MAX; depth++)
            totals->last_end_ns[lane][depth] = INT64_MIN;
    totals->selection = selection;
    totals->in_order = !(script.choices & BACKWARDS);
    totals->left = items;
    script.next_event = script.next_sample = 0;
    struct pass *pass = pass_create(&source, selection, &sink, 1);
    assert(pass);
    int status = pass_run(pass);
    assert(status == 0 || (status == 7 && items != UINT64_MAX));
    totals->counts = *pass_counts(pass);
    pass_destroy(pass);
}

static void check_whole(const struct totals *totals)
{
    const struct pass_selection *selection = totals->selection;
    for (int lane = LANE_THREAD; lane <= LANE_TRACK; lane++)
        assert(totals->opened[lane] == totals->spans[lane]);
    for (uint32_t i = 0; i < script.sample_count && !selection->range; i++) {
        struct sample sample = script.samples[i];
        int64_t values[SAMPLE_VALUES_MAX];
        assert(totals->told[i] == pass_selects_sample(selection, NULL, &sample, values));
    }
}

/* Ids that are used twice make different pairs in a different order. */
static void check_same(void)
{
    bool whole = (script.choices & ONE_CLOCK) && !(script.choices & PROBED);
    if (!in_lanes.in_order || script.unsaid)
        return;
    for (int lane = LANE_THREAD; lane <= LANE_TRACK; lane++) {
        if (lane == LANE_PROCESS && !whole)
            continue;
        assert(in_lanes.spans[lane] == in_time.spans[lane]);
        assert(in_lanes.span_ns[lane] == in_time.span_ns[lane]);
        assert(in_lanes.child_ns[lane] == in_time.child_ns[lane]);
    }
    for (int kind = EVENT_PUSH; kind < EVENT_KINDS; kind++) {
        bool started = kind == EVENT_START || kind == EVENT_END;
        if (whole || !started)
            assert(in_lanes.counts.events[kind] == in_time.counts.events[kind]);
    }
    assert(!whole || in_lanes.counts.orphans == in_time.counts.orphans);
}

/* In lanes, less is read of the time before a selection. */
static void check_origins(void)
{
    const struct pass_selection *selection = with_origins.selection;
    bool all = selection->from_ns == INT64_MIN && selection->to_ns == INT64_MAX;
    if (in_lanes.in_order && !script.unsaid && all)
        assert(with_origins.origins == origins_in_time.origins);
}

static bool wants(void *context, uint32_t thread)
{
    return thread >= THREADS || *(const uint8_t *)context >> thread & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < CHOICE_BYTES)
        return 0;
    uint8_t threads = bytes[2];
    int64_t to_ns = bytes[1] ? BEGIN_NS + 8 * bytes[1] : INT64_MAX;
    struct pass_selection selection = {
        .from_ns = bytes[0] ? BEGIN_NS + 4 * bytes[0] : INT64_MIN,
        .range = bytes[3] & ONE_RANGE ? "lo*" : NULL,
        .wants = threads ? wants : NULL,
        .context = &threads,
    };
    selection.to_ns = to_ns > selection.from_ns ? to_ns : INT64_MAX;
    script.choices = bytes[3];
    script.unsaid = false;
    make_trace();
    read_script(bytes + CHOICE_BYTES, bytes + size);
    run(&in_lanes, &selection, WANT_PATHS | WANT_TIMES, UINT64_MAX);
    check_whole(&in_lanes);
    run(&one_by_one, &selection, WANT_PATHS | WANT_TIMES | WANT_NUMBERS, UINT64_MAX);
    assert(one_by_one.digest == in_lanes.digest);
    assert(!memcmp(&one_by_one.counts, &in_lanes.counts, sizeof(in_lanes.counts)));
    run(&in_time, &selection, WANT_TIME_ORDER, UINT64_MAX);
    check_whole(&in_time);
    check_same();
    run(&with_origins, &selection, WANT_ORIGINS | WANT_PATHS, UINT64_MAX);
    check_whole(&with_origins);
    run(&origins_in_time, &selection, WANT_ORIGINS | WANT_TIME_ORDER, UINT64_MAX);
    check_origins();
    run(&stopped, &selection, threads & 1 ? WANT_PATHS : WANT_TIME_ORDER, bytes[1]);
    trace_destroy(script.trace);
    return 0;
}
