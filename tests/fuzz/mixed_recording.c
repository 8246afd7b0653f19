/* SPDX-License-Identifier: MIT */
/* See mixed_recording.h. */
#include "mixed_recording.h"

#include "made_sample.h"
#include "stacks.h"
#include "store.h"
#include "trace.h"
#include "trace_devices.h"
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITEMS_MAX = 600,
    SCOPES = 128,
    OBSERVERS = 16,
    STACKS = 24,
    PATHS = 12,
    TRACKS = 5,
    QUEUES = 2,
    LANES = TRACKS + 1 + QUEUES, /* the device is between them */
    ARGS = 3,
    BEGIN_NS = 1000000000,
    OWN_SETS = 3,
};

const char *const mixed_names[MIXED_NAMES] = {
    "work", "parse", "load", "task 1",      "wait",      POOL_FLOW,
    "gc",   "c/d",   "c/e",  POOL_KEY_NAME, "bytes [B]", "a \"quoted\"\n<name>"};
const int32_t mixed_pids[MIXED_PROCESSES] = {100, 200, 300};
const int32_t mixed_tids[MIXED_THREADS] = {100, 101, 200, 201, 300};
static const uint32_t process_of[MIXED_THREADS] = {0, 0, 1, 1, 2};

struct lane_state {
    int64_t now_ns;
    uint64_t depth;
};

struct mixed {
    struct trace *trace;
    struct store_writer *writer;
    struct lane_state threads[MIXED_THREADS];
    struct arg args[ARGS];
    uint32_t calls[MIXED_NAMES]; /* names of events that stand for functions */
    uint16_t sets[OWN_SETS];
};

static uint32_t name_of(uint8_t byte)
{
    return byte % (MIXED_NAMES + 1); /* 0: none */
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void add_processes(struct trace *trace)
{
    for (uint32_t i = 0; i < MIXED_PROCESSES; i++) {
        struct trace_process *process = trace_process(trace, (uint32_t)trace_process_add(trace));
        process->pid = process->ns_pid = mixed_pids[i];
        process->identity = i + 1;
        process->start_ns = BEGIN_NS;
        process->cmdline = process->comm = 1 + i;
        process->parent = (int32_t)i - 1;
    }
    struct trace_process *forked = trace_process(trace, 2);
    forked->forked = true;
    forked->fork_ns = BEGIN_NS + 3000;
    forked->fork_thread = 1 + 2;
    for (uint32_t i = 0; i < MIXED_THREADS; i++) {
        struct trace_thread *thread =
            trace_thread(trace, (uint32_t)trace_thread_add(trace, process_of[i]));
        thread->tid = mixed_tids[i];
        thread->serial = 1 + i % 2;
        thread->name = 1 + i;
    }
}

/* Calls have few roles, other observers up to 14. QUEUE_ROLE_PC is far above these. */
static uint16_t role_of(uint32_t scope)
{
    uint32_t row = scope / OBSERVERS;
    if (scope % OBSERVERS == OBSERVER_PYTHON_CALLS)
        return (uint16_t)(row % 4);
    return row == 7 ? QUEUE_ROLE_PC : (uint16_t)(2 * row + scope % 2);
}

/* Each observer with several roles, some of them with domains and categories. */
static void add_scopes(struct trace *trace)
{
    for (uint32_t i = 1; i < SCOPES; i++) {
        const struct scope scope = {.domain = i % 5 ? 0 : 1 + i % MIXED_NAMES,
                                    .category = i % 7 ? 0 : 1 + i % MIXED_NAMES,
                                    .observer = (uint16_t)(i % OBSERVERS),
                                    .role = role_of(i)};
        if (trace_scope_add(trace, &scope) < 0)
            abort();
    }
}

static void add_lanes(struct trace *trace)
{
    for (uint32_t i = 0; i < TRACKS; i++) {
        struct trace_lane *track = trace_lane(trace, (uint32_t)trace_lane_add(trace, 70 + i));
        track->process = i % MIXED_PROCESSES;
        track->name = 1 + i;
    }
    trace_lane_set_parent(trace, 3, 0);
    uint32_t device = (uint32_t)trace_lane_of(trace, LANE_DEVICE, 0, 0);
    trace_lane(trace, device)->name = 1;
    struct trace_device *entry = trace_device(trace, (uint32_t)trace_device_add(trace));
    entry->lane = device + 1;
    entry->name = 2;
    for (uint64_t i = 0; i < QUEUES; i++) {
        int64_t queue = trace_lane_of(trace, LANE_QUEUE, 0, UINT64_C(1) << 32 | (7 + i));
        if (queue < 0 || !trace_lane_set_parent(trace, (uint32_t)queue, device))
            abort();
    }
}

/* Functions of Python and of C, and stacks and paths of them. */
static void add_stacks(struct mixed *mixed)
{
    struct stacks *stacks = trace_stacks(mixed->trace);
    uint32_t source = (uint32_t)stacks_source_of(stacks, 1);
    for (uint32_t i = 0; i < MIXED_NAMES; i++) {
        const struct label label = {.text = 1 + i,
                                    .source = i % 2 ? source : 0,
                                    .first_line = (int32_t)i,
                                    .kind = i % 2 ? FRAME_PYTHON : (uint8_t)(1 + i % 6)};
        uint32_t made = (uint32_t)stacks_label(stacks, &label);
        mixed->calls[i] = (uint32_t)trace_label_name(mixed->trace, made);
        const struct frame frame = {.kind = label.kind, .label = made, .line = (int32_t)i + 1};
        if (stacks_frame(stacks, &frame) < 0)
            abort();
    }
    for (uint32_t i = 1; i < STACKS; i++)
        stacks_push(stacks, i / 2, 1 + i % MIXED_NAMES);
    for (uint32_t i = 1; i < PATHS; i++)
        stacks_path_add(stacks, &(struct range_path){.parent = i / 2,
                                                     .name = 1 + i % MIXED_NAMES,
                                                     .kind = i % 5 == 4 ? RANGE_PATH_TRACK : 0});
}

static void add_sets(struct mixed *mixed)
{
    static const struct sample_set sets[OWN_SETS] = {
        {.name = 3,
         .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
         .count = 2,
         .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}},
        {.name = 4,
         .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
         .count = 2,
         .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}},
        {.name = 5, .flags = SAMPLE_SET_LAUNCH, .count = 1, .types = {VALUE_TYPE_CALLS}}};
    for (unsigned i = 0; i < OWN_SETS; i++) {
        int64_t set = sample_sets_add(trace_sets(mixed->trace), &sets[i]);
        if (set < 0)
            abort();
        mixed->sets[i] = (uint16_t)set;
    }
}

static void make_tables(struct mixed *mixed)
{
    struct trace *trace = mixed->trace = trace_create();
    if (!trace)
        abort();
    for (uint32_t i = 0; i < MIXED_NAMES; i++)
        if (trace_string_add(trace, mixed_names[i], strlen(mixed_names[i])) != 1 + i)
            abort();
    add_processes(trace);
    add_scopes(trace);
    add_lanes(trace);
    add_stacks(mixed);
    add_sets(mixed);
    trace_sampling(trace)->rung = SAMPLING_BPF;
    trace_sampling(trace)->off_cpu = true;
    trace_sampling(trace)->frequency_hz = 99;
    trace_session(trace)->begin_ns = BEGIN_NS;
    trace_session(trace)->begin_realtime_ns = INT64_C(1700000000000000000);
    trace_session(trace)->processors = 2;
    for (uint32_t i = 0; i < MIXED_THREADS; i++)
        mixed->threads[i].now_ns = BEGIN_NS;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static uint64_t depth_after(const struct lane_state *state, uint8_t byte)
{
    uint64_t depth = state->depth ? state->depth - 1 : 0;
    return byte < 240 ? depth : byte % 8u; /* some pops or their pushes were lost */
}

/* Half of the events are the program's own, or calls. */
static uint32_t scope_of(uint8_t byte)
{
    return byte < 64    ? 0
           : byte < 128 ? OBSERVER_PYTHON_CALLS + byte / 8 * OBSERVERS % SCOPES
                        : byte % SCOPES;
}

static bool is_call(const struct mixed *mixed, const struct event *event)
{
    unsigned observer = trace_scope(mixed->trace, event->scope)->observer;
    return observer == OBSERVER_PYTHON_CALLS || observer == OBSERVER_NATIVE_CALLS;
}

static void set_place(struct mixed *mixed, struct event *event, const uint8_t *bytes)
{
    struct lane_state *state = &mixed->threads[event->thread];
    event->id = 1 + bytes[5] % 8u;
    if (event->kind == EVENT_POP || event->kind == EVENT_LOST)
        event->depth = depth_after(state, bytes[5]);
    if (event->kind == EVENT_LOST) {
        event->level = bytes[6] % LOSS_COUNT;
        event->end_ns = state->now_ns += bytes[6];
    }
    if (!event_has_lane(event->kind))
        return;
    event->lane = bytes[5] % TRACKS;
    if (event->kind != EVENT_SPAN)
        return;
    event->lane = bytes[5] % 4 ? TRACKS + 1u + bytes[5] % QUEUES : EVENT_OWN_LANE;
    event->end_ns = event->time_ns + bytes[6] * INT64_C(20);
    event->origin_ns = bytes[7] % 4 ? event->time_ns - bytes[7] : EVENT_NO_ORIGIN;
    if (event->lane == EVENT_OWN_LANE)
        trace_thread(mixed->trace, event->thread)->probed = true;
}

static void add_event(struct mixed *mixed, struct event event, const uint8_t *bytes)
{
    struct lane_state *state = &mixed->threads[event.thread];
    event.kind = 1 + bytes[0] % 16;
    event.name = name_of(bytes[2]);
    event.scope = scope_of(bytes[3]);
    event.level = bytes[7] % 8;
    event.flags = event_can_continue(event.kind) && bytes[7] > 200 ? EVENT_CONTINUES : 0;
    event.value_kind = event.kind == EVENT_COUNTER ? VALUE_INT64 + bytes[6] % 4 : bytes[6] % 6;
    event.value.uint64 = event.value_kind == VALUE_STRING ? name_of(bytes[7])
                         : event.value_kind == VALUE_BOOL ? bytes[7] % 2
                         : event.value_kind == VALUE_DOUBLE
                             ? bytes[7] * UINT64_C(0x4040404040404040)
                             : bytes[7];
    if (is_call(mixed, &event) && bytes[2] % 8)
        event.name = mixed->calls[bytes[2] % MIXED_NAMES];
    set_place(mixed, &event, bytes);
    event.arg_count = event_is_record(event.kind) && bytes[7] % 4 == 1 ? 1 + bytes[6] % ARGS : 0;
    for (uint32_t i = 0; i < ARGS; i++)
        mixed->args[i] = (struct arg){.key = name_of(bytes[6] + (uint8_t)i),
                                      .kind = VALUE_INT64 + bytes[7] % 4,
                                      .value.uint64 = bytes[7] % 2};
    state->depth = event_depth_after(&event, state->depth);
    const struct event_batch batch = {
        .thread = event.thread, .count = 1, .events = &event, .args = mixed->args};
    if (store_writer_add(mixed->writer, &batch) != 0)
        abort();
}

static void add_sample(struct mixed *mixed, struct event at, const uint8_t *bytes)
{
    int64_t values[2] = {1 + bytes[6] % 9, bytes[6] * INT64_C(100)};
    struct sample sample = {.thread = at.thread,
                            .time_ns = at.time_ns,
                            .end_ns = at.time_ns + bytes[6] * INT64_C(30),
                            .stack = bytes[2] % STACKS,
                            .path = bytes[3] % PATHS,
                            .flags = bytes[7] & 31,
                            .reason = bytes[7] % WAIT_REASON_COUNT,
                            .values = values,
                            .value_count = 2};
    unsigned kind = bytes[0] % 8;
    if (kind < 3)
        sample = made_cpu(sample, bytes[6] * INT64_C(1000));
    else if (kind < 5)
        sample = made_wait(sample, bytes[5] % 2 ? (sample.time_ns + sample.end_ns) / 2 : 0);
    else
        sample.set = mixed->sets[kind - 5];
    if (kind == 7) {
        sample.end_ns = 0;
        sample.value_count = 1;
    }
    if (store_writer_add_samples(mixed->writer, &sample, 1) != 0)
        abort();
}

void mixed_recording(const uint8_t *bytes, size_t size, const char *path)
{
    const struct store_writer_options options = {.overwrite = true};
    struct mixed mixed = {0};
    int64_t last_ns = BEGIN_NS;
    make_tables(&mixed);
    if (store_writer_create(path, mixed.trace, &options, &mixed.writer) != 0)
        abort();
    for (size_t i = 0; i < ITEMS_MAX && size >= MIXED_ITEM_BYTES; i++) {
        struct event event = {.thread = bytes[1] % MIXED_THREADS};
        event.time_ns = mixed.threads[event.thread].now_ns += bytes[4];
        if (bytes[0] & 128)
            add_sample(&mixed, event, bytes);
        else
            add_event(&mixed, event, bytes);
        if (mixed.threads[event.thread].now_ns > last_ns)
            last_ns = mixed.threads[event.thread].now_ns;
        bytes += MIXED_ITEM_BYTES;
        size -= MIXED_ITEM_BYTES;
    }
    trace_session(mixed.trace)->end_ns = last_ns + 1000;
    trace_session(mixed.trace)->revision++;
    if (store_writer_close(mixed.writer) != 0)
        abort();
    trace_destroy(mixed.trace);
}
