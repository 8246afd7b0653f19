/* SPDX-License-Identifier: MIT */
/* Rows of threads made of samples: flame charts, states beside them, and what a system trace has of
 * the scheduler. The reader sorts by time, and events of one track and time by their place in the
 * file, which is the order of both. */
#include "perfetto_rows.h"

#include "call_label.h"
#include "perfetto_fields.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"
#include "thread_states.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Flame chart ----------------------------------------------------------------------------- */

static void begin_chart(struct perfetto_chart *chart)
{
    struct perfetto_output *px = chart->tracks->px;
    struct proto_writer *packet = perfetto_defaults_begin(px, chart->sequence, PX_CLOCK_MONOTONIC);
    proto_end(packet);
    perfetto_packet_end(px);
    chart->begun = true;
}

static struct proto_writer *begin_event(struct perfetto_chart *chart,
                                        const struct flame_chart_event *event,
                                        enum perfetto_event_type type)
{
    struct proto_writer *packet = perfetto_packet_begin(chart->tracks->px);
    perfetto_put_time(chart->tracks->px, PX_PACKET_TIMESTAMP, event->time_ns);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, chart->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    proto_begin(packet, PX_PACKET_TRACK_EVENT);
    proto_uint(packet, PX_EVENT_TYPE, type);
    proto_uint(packet, PX_EVENT_TRACK_UUID, chart->track_uuids[event->thread]);
    return packet;
}

static void put_label(struct perfetto_chart *chart, struct proto_writer *packet, uint32_t ordinal)
{
    char label[CALL_LABEL_SIZE];
    size_t length =
        flame_chart_label(chart->tracks->px->trace, ordinal, chart->prefixes, label, sizeof(label));
    chart->known[ordinal] = true;
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    proto_begin(packet, PX_INTERNED_EVENT_NAMES);
    proto_uint(packet, PX_INTERNED_IID, ordinal + 1ull);
    proto_bytes(packet, PX_INTERNED_NAME, label, length);
    proto_end(packet);
    proto_end(packet);
}

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct perfetto_chart *chart = context;
    uint32_t thread = event->thread, label = event->label;
    if (!chart->begun)
        begin_chart(chart);
    if (!chart->track_uuids[thread])
        chart->track_uuids[thread] = perfetto_thread_child(chart->tracks, thread, PERFETTO_STACKS);
    struct proto_writer *packet = begin_event(chart, event, PX_SLICE_BEGIN);
    proto_uint(packet, PX_EVENT_NAME_IID, label + 1ull);
    proto_end(packet);
    if (label < chart->label_count && !chart->known[label])
        put_label(chart, packet, label);
    perfetto_packet_end(chart->tracks->px);
    return chart->tracks->px->error;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    struct perfetto_chart *chart = context;
    struct proto_writer *packet = begin_event(chart, event, PX_SLICE_END);
    proto_end(packet);
    perfetto_packet_end(chart->tracks->px);
    return chart->tracks->px->error;
}

int perfetto_chart_init(struct perfetto_chart *chart, struct perfetto_tracks *tracks,
                        const struct export_job *job, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct flame_chart_sink sink = {on_begin, on_end, chart};
    *chart = (struct perfetto_chart){
        .tracks = tracks, .prefixes = job->options->strip_prefix, .sequence = number};
    chart->label_count = stacks_label_count(trace_stacks_get(trace));
    chart->known = calloc(chart->label_count + 1u, sizeof(*chart->known));
    chart->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*chart->track_uuids));
    if (!chart->known || !chart->track_uuids)
        return -ENOMEM;
    return flame_chart_init(&chart->chart, job, &sink);
}

void perfetto_chart_fini(struct perfetto_chart *chart)
{
    flame_chart_fini(&chart->chart);
    free(chart->known);
    free(chart->track_uuids);
    *chart = (struct perfetto_chart){0};
}

/* ---- States ---------------------------------------------------------------------------------- */

uint32_t perfetto_innermost(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t native = 0;
    for (; stack; stack = stacks_get_stack(stacks, stack)->parent) {
        uint32_t frame = stacks_get_stack(stacks, stack)->frame;
        unsigned kind = stacks_get_frame(stacks, frame)->kind;
        if (kind == FRAME_PYTHON)
            return frame;
        if (!native && kind != FRAME_KERNEL && kind != FRAME_NOTE)
            native = frame;
    }
    return native;
}

/* Facts of a wait: its place, and that it did not end. */
static void put_wait_facts(const struct perfetto_state_rows *rows,
                           const struct thread_stretch *stretch, struct fact *at, char *label)
{
    const struct trace *trace = rows->tracks->px->trace;
    const struct sample *wait = stretch->wait;
    uint32_t frame = wait ? perfetto_innermost(trace, wait->stack) : 0;
    if (frame) {
        call_frame_label(trace, frame, rows->prefixes, label, CALL_LABEL_SIZE);
        *at++ = (struct fact){.name = "in", .kind = VALUE_STRING, .text = label};
    }
    if (wait && (wait->flags & SAMPLE_UNFINISHED))
        *at++ = (struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = {.uint64 = 1}};
}

static int put_stretch(void *context, const struct thread_stretch *stretch)
{
    struct perfetto_state_rows *rows = context;
    struct perfetto_tracks *tracks = rows->tracks;
    uint64_t *uuid = &rows->track_uuids[stretch->thread];
    char label[CALL_LABEL_SIZE];
    struct fact facts[3] = {{0}};
    if (!*uuid)
        *uuid = perfetto_thread_child(tracks, stretch->thread, PERFETTO_STATE);
    put_wait_facts(rows, stretch, facts, label);
    perfetto_put(tracks->px, tracks->session,
                 &(struct perfetto_event){.time_ns = stretch->begin_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = *uuid,
                                          .text = thread_stretch_name(stretch),
                                          .arguments = facts});
    perfetto_put(tracks->px, tracks->session,
                 &(struct perfetto_event){
                     .time_ns = stretch->end_ns, .type = PX_SLICE_END, .track_uuid = *uuid});
    return tracks->px->error;
}

int perfetto_state_rows_init(struct perfetto_state_rows *rows, struct perfetto_tracks *tracks,
                             const struct export_job *job)
{
    const struct trace *trace = tracks->px->trace;
    const struct thread_states_sink sink = {put_stretch, rows};
    *rows = (struct perfetto_state_rows){.tracks = tracks, .prefixes = job->options->strip_prefix};
    rows->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*rows->track_uuids));
    return rows->track_uuids ? thread_states_init(&rows->states, trace, job->selection, &sink)
                             : -ENOMEM;
}

void perfetto_state_rows_fini(struct perfetto_state_rows *rows)
{
    thread_states_fini(&rows->states);
    free(rows->track_uuids);
    *rows = (struct perfetto_state_rows){0};
}

/* ---- Scheduler ------------------------------------------------------------------------------- */

/* State events of one thread at a time: a thread runs from the end of one stretch off the CPU to
 * the start of the next, on the CPU of its next sample or stretch. */

struct state_thread {
    int64_t run_ns;  /* since when it runs; 0: not running, or unknown */
    int64_t last_ns; /* last known time */
    uint16_t cpu;
    bool run_written, seen;
};

int perfetto_states_init(struct perfetto_states *states, struct perfetto_tracks *tracks,
                         uint32_t number)
{
    *states = (struct perfetto_states){.tracks = tracks, .sequence = number};
    states->thread_count = trace_thread_count(tracks->px->trace);
    states->threads = calloc(states->thread_count + 1u, sizeof(*states->threads));
    return states->threads ? 0 : -ENOMEM;
}

void perfetto_states_fini(struct perfetto_states *states)
{
    free(states->threads);
    vec_free(&states->runs);
    *states = (struct perfetto_states){0};
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* The reader's kernel events have a separate clock, here with equal times. */
static void begin_sequence(struct perfetto_states *states)
{
    perfetto_clock_sequence(states->tracks->px, states->sequence, PX_CLOCK_MONOTONIC_RAW);
    states->begun = true;
}

static struct proto_writer *begin_packet(struct perfetto_states *states)
{
    struct proto_writer *packet = perfetto_packet_begin(states->tracks->px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, states->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    return packet;
}

struct change {
    int64_t time_ns;
    uint32_t thread;
    uint16_t cpu; /* on which it runs or ran */
    uint8_t state;
};

static void put_change(struct perfetto_states *states, const struct change *change)
{
    struct proto_writer *packet = begin_packet(states);
    perfetto_put_time(states->tracks->px, PX_PACKET_TIMESTAMP, change->time_ns);
    proto_begin(packet, PX_PACKET_TASK_STATE);
    proto_uint(packet, PX_TASK_CPU, change->cpu);
    proto_uint(packet, PX_TASK_TID, states->tracks->ids->tids[change->thread]);
    proto_uint(packet, PX_TASK_STATE, change->state);
    proto_uint(packet, PX_TASK_PRIORITY, PX_PRIORITY_NORMAL);
    proto_end(packet);
    perfetto_packet_end(states->tracks->px);
}

static bool waits_for_io(const struct sample *sample)
{
    return sample->reason == WAIT_DISK || sample->reason == WAIT_PAGE_FAULT;
}

/* The reason of the thread's state at that time, in the form of the kernel's event at the end of a
 * wait. */
static void put_reason(struct perfetto_states *states, const struct sample *sample, int64_t time_ns)
{
    uint32_t tid = states->tracks->ids->tids[sample->thread];
    uint32_t bit = 1u << (sample->reason & 31);
    struct proto_writer *packet = begin_packet(states);
    if (!(states->symbols & bit)) {
        states->symbols |= bit;
        proto_begin(packet, PX_PACKET_INTERNED_DATA);
        proto_begin(packet, PX_INTERNED_KERNEL_SYMBOLS);
        proto_uint(packet, PX_INTERNED_IID, sample->reason + 1u);
        proto_text(packet, PX_INTERNED_NAME, wait_reason_name((enum wait_reason)sample->reason));
        proto_end(packet);
        proto_end(packet);
    }
    proto_begin(packet, PX_PACKET_FTRACE_EVENTS);
    proto_uint(packet, PX_FTRACE_CPU, sample->cpu);
    proto_begin(packet, PX_FTRACE_EVENT);
    perfetto_put_time(states->tracks->px, PX_FTRACE_EVENT_TIMESTAMP, time_ns);
    proto_uint(packet, PX_FTRACE_EVENT_PID, tid);
    proto_begin(packet, PX_FTRACE_EVENT_BLOCKED_REASON);
    proto_uint(packet, PX_BLOCKED_PID, tid);
    proto_uint(packet, PX_BLOCKED_CALLER, sample->reason + 1u);
    proto_uint(packet, PX_BLOCKED_IO_WAIT, waits_for_io(sample));
    proto_end(packet);
    proto_end(packet);
    proto_uint(packet, PX_FTRACE_CLOCK, PX_FTRACE_MONO_RAW);
    proto_end(packet);
    perfetto_packet_end(states->tracks->px);
}

/* ---- States ---------------------------------------------------------------------------------- */

/* The thread ran on `cpu` until `end_ns`. */
static int end_run(struct perfetto_states *states, uint32_t thread, uint16_t cpu, int64_t end_ns)
{
    struct state_thread *state = &states->threads[thread];
    if (!state->run_ns || state->run_ns >= end_ns)
        return 0;
    if (!state->run_written)
        put_change(states, &(struct change){state->run_ns, thread, cpu, PX_TASK_RUNNING});
    const struct perfetto_run run = {state->run_ns, end_ns, thread, cpu};
    return states->runs.count < PERFETTO_RUNS_MAX ? vec_push(&states->runs, run) : 0;
}

/* It was moved to another CPU without a recorded switch. */
static int change_cpu(struct perfetto_states *states, const struct sample *sample)
{
    struct state_thread *state = &states->threads[sample->thread];
    int64_t now = sample->time_ns;
    int error = end_run(states, sample->thread, state->cpu, now);
    put_change(states, &(struct change){now, sample->thread, state->cpu, PX_TASK_RUNNABLE});
    state->run_ns = now;
    state->run_written = false;
    return error;
}

static int on_cpu(struct perfetto_states *states, const struct sample *sample)
{
    struct state_thread *state = &states->threads[sample->thread];
    int error = 0;
    if (sample->time_ns < state->last_ns)
        return 0;
    if (state->run_written && state->cpu != sample->cpu)
        error = change_cpu(states, sample);
    if (!state->seen)
        state->run_ns = sample->time_ns;
    if (state->run_ns && !state->run_written) {
        put_change(states,
                   &(struct change){state->run_ns, sample->thread, sample->cpu, PX_TASK_RUNNING});
        state->run_written = true;
    }
    state->seen = true;
    state->cpu = sample->cpu;
    state->last_ns = sample->time_ns;
    return error;
}

static int off_cpu(struct perfetto_states *states, const struct sample *sample)
{
    struct state_thread *state = &states->threads[sample->thread];
    int64_t begin_ns = sample->time_ns, end_ns = sample->end_ns;
    if (begin_ns < state->last_ns)
        begin_ns = state->last_ns;
    if (end_ns <= begin_ns)
        return 0;
    const struct sample_sets *sets = trace_sets_get(states->tracks->px->trace);
    int64_t ready_ns = sample->time_ns + (int64_t)sample_off_share(sets, sample).blocked_ns;
    bool io = waits_for_io(sample);
    uint16_t cpu = state->run_written ? state->cpu : sample->cpu;
    int error = end_run(states, sample->thread, cpu, begin_ns);
    struct change change = {begin_ns, sample->thread, cpu, PX_TASK_RUNNABLE};
    if (ready_ns > begin_ns) {
        change.state = io ? PX_TASK_UNINTERRUPTIBLE : PX_TASK_SLEEPING;
        put_change(states, &change);
        put_reason(states, sample, ready_ns - 1);
        change.time_ns = ready_ns;
        change.state = PX_TASK_RUNNABLE;
    }
    if (change.time_ns < end_ns)
        put_change(states, &change);
    *state = (struct state_thread){.run_ns = sample->flags & SAMPLE_UNFINISHED ? 0 : end_ns,
                                   .last_ns = end_ns,
                                   .cpu = sample->cpu,
                                   .seen = true};
    return error;
}

int perfetto_states_put(struct perfetto_states *states, const struct sample *sample)
{
    int error = 0;
    if (sample->thread >= states->thread_count)
        return 0;
    if (!states->begun)
        begin_sequence(states);
    enum sample_role role = sample_role(trace_sets_get(states->tracks->px->trace), sample);
    if (role == SAMPLE_ROLE_CPU)
        error = on_cpu(states, sample);
    else if (role == SAMPLE_ROLE_OFF_CPU)
        error = off_cpu(states, sample);
    return error ? error : states->tracks->px->error;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* By CPU: until when a thread is known to have run on it. */
struct cpu_ends {
    int64_t *items;
    size_t count, capacity;
};

static int find_cpu_ends(const struct perfetto_states *states, struct cpu_ends *ends)
{
    for (size_t i = 0; i < states->runs.count; i++) {
        const struct perfetto_run *run = &states->runs.items[i];
        while (ends->count <= run->cpu) {
            if (vec_push(ends, 0) != 0)
                return -ENOMEM;
        }
        if (run->end_ns > ends->items[run->cpu])
            ends->items[run->cpu] = run->end_ns;
    }
    return 0;
}

/* CPU of a thread's last run, if no sample shows it: one not used by others since then, preferably
 * the CPU of its run before. */
static uint16_t guess_cpu(const struct state_thread *state, const struct cpu_ends *ends)
{
    if (state->cpu >= ends->count || ends->items[state->cpu] <= state->run_ns)
        return state->cpu;
    for (uint16_t cpu = 0; cpu < ends->count; cpu++) {
        if (ends->items[cpu] <= state->run_ns)
            return cpu;
    }
    return state->cpu;
}

static int finish_thread(struct perfetto_states *states, uint32_t thread, struct cpu_ends *ends)
{
    struct state_thread *state = &states->threads[thread];
    const struct trace *trace = states->tracks->px->trace;
    int64_t end_ns = thread_gone_ns(trace, thread, state->last_ns, state->run_ns != 0);
    int64_t last_ns = end_ns > 0 ? end_ns : session_end_ns(trace);
    if (last_ns > states->to_ns) {
        last_ns = states->to_ns;
        end_ns = 0; /* the end is outside of the selection */
    }
    if (!state->run_written && state->run_ns)
        state->cpu = guess_cpu(state, ends);
    if (state->run_ns && state->cpu < ends->count)
        ends->items[state->cpu] = INT64_MAX;
    last_ns = last_ns > state->last_ns ? last_ns : state->last_ns;
    int error = end_run(states, thread, state->cpu, last_ns);
    if (end_ns > 0)
        put_change(states, &(struct change){last_ns, thread, state->cpu, PX_TASK_DESTROYED});
    return error;
}

static int compare_runs(const void *a, const void *b)
{
    const struct perfetto_run *left = a, *right = b;
    if (left->cpu != right->cpu)
        return left->cpu < right->cpu ? -1 : 1;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

/* True if the CPU is free for an outer run when run `index` ends. */
static bool is_free_after(const struct perfetto_states *states, uint32_t index)
{
    const struct perfetto_run *run = &states->runs.items[index];
    for (uint32_t i = index + 1; i < states->runs.count; i++) {
        const struct perfetto_run *next = &states->runs.items[i];
        if (next->cpu != run->cpu || next->begin_ns > run->end_ns)
            return true;
        if (next->end_ns > run->end_ns)
            return false;
    }
    return true;
}

/* `inner` displaced `outer` on its CPU: outer was runnable then, and ran again afterwards. */
static void put_aside(struct perfetto_states *states, const struct perfetto_run *outer,
                      const struct perfetto_run *inner, bool free_after)
{
    struct change change = {inner->begin_ns, outer->thread, outer->cpu, PX_TASK_RUNNABLE};
    if (outer->begin_ns < inner->begin_ns)
        put_change(states, &change);
    change.time_ns = inner->end_ns;
    change.state = PX_TASK_RUNNING;
    if (inner->end_ns < outer->end_ns && free_after)
        put_change(states, &change);
}

/* A CPU runs one thread at a time: runs that lie inside others interrupt them. */
static int resolve_overlaps(struct perfetto_states *states)
{
    VEC(uint32_t) open = {0};
    int error = 0;
    if (states->runs.count > 0)
        qsort(states->runs.items, states->runs.count, sizeof(*states->runs.items), compare_runs);
    for (uint32_t i = 0; !error && i < states->runs.count; i++) {
        const struct perfetto_run *run = &states->runs.items[i];
        const struct perfetto_run *outer = NULL;
        while (open.count > 0) {
            outer = &states->runs.items[open.items[open.count - 1]];
            if (outer->cpu == run->cpu && outer->end_ns > run->begin_ns)
                break;
            outer = NULL;
            open.count--;
        }
        if (outer)
            put_aside(states, outer, run, is_free_after(states, i));
        error = vec_push(&open, i);
    }
    vec_free(&open);
    return error;
}

/* First the threads with a known CPU, so that others are not put there. */
static int finish_threads(struct perfetto_states *states)
{
    struct cpu_ends ends = {0};
    int error = find_cpu_ends(states, &ends);
    for (int written = 1; written >= 0; written--) {
        for (uint32_t i = 0; !error && i < states->thread_count; i++) {
            const struct state_thread *state = &states->threads[i];
            if (state->seen && state->run_written == written)
                error = finish_thread(states, i, &ends);
        }
    }
    vec_free(&ends);
    return error;
}

int perfetto_states_finish(struct perfetto_states *states)
{
    int error = finish_threads(states);
    if (!error)
        error = resolve_overlaps(states);
    return error ? error : states->tracks->px->error;
}
