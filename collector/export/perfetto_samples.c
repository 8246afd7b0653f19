/* SPDX-License-Identifier: MIT */
/* The sequence of samples: what a stack needs is interned in the packet that needs it first. */
#include "perfetto_parts.h"

#include "call_label.h"
#include "perfetto_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN_LABEL = 1, /* bits, by number of the label, frame, stack or string */
    KNOWN_FRAME = 2,
    KNOWN_STACK = 4,
    KNOWN_MAPPING = 8,
    DEPTH_MAX = 2048,
    CPUS_MAX = 4096,
    WAITING_MAX = 1 << 15, /* samples: 1.8 MB */
};

/* Modules of frames that have no file, numbered behind the strings. */
static const char *const kind_modules[] = {
    [0] = "[unknown]",           [FRAME_NATIVE] = "[native]",
    [FRAME_PYTHON] = "[python]", [FRAME_KERNEL] = "[kernel]",
    [FRAME_JIT] = "[jit]",       [FRAME_COLLECTOR] = "[garbage collector]",
    [FRAME_NOTE] = "[annot]",
};

enum { KIND_COUNT = sizeof(kind_modules) / sizeof(*kind_modules) };

int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          const char *prefixes, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    *samples =
        (struct perfetto_samples){.tracks = tracks, .prefixes = prefixes, .sequence = number};
    samples->frame_count = stacks_frame_count(stacks) + 1; /* with the frame of no stack */
    samples->label_count = stacks_label_count(stacks) + 1; /* with its name */
    samples->stack_count = stacks_stack_count(stacks) + 1;
    samples->string_count = trace_string_count(trace) + KIND_COUNT;
    uint32_t most = samples->frame_count;
    most = samples->label_count > most ? samples->label_count : most;
    most = samples->stack_count > most ? samples->stack_count : most;
    most = samples->string_count > most ? samples->string_count : most;
    samples->in_order = true;
    samples->known = calloc(most, 1);
    return samples->known ? 0 : -ENOMEM;
}

void perfetto_samples_fini(struct perfetto_samples *samples)
{
    free(samples->known);
    free(samples->cpu_ns);
    vec_free(&samples->waiting);
    value_pool_free(&samples->values);
    *samples = (struct perfetto_samples){0};
}

/* Whether it is new, and no longer. */
static bool learn(struct perfetto_samples *samples, uint32_t number, uint8_t what)
{
    bool is_new = !(samples->known[number] & what);
    samples->known[number] |= what;
    return is_new;
}

static void begin_sequence(struct perfetto_samples *samples)
{
    struct perfetto_output *px = samples->tracks->px;
    uint32_t frequency = trace_sampling_get(px->trace)->frequency_hz;
    struct proto_writer *packet =
        perfetto_defaults_begin(px, samples->sequence, PX_CLOCK_MONOTONIC);
    proto_begin(packet, PX_DEFAULTS_PERF_SAMPLE);
    proto_begin(packet, PX_SAMPLE_DEFAULTS_TIMEBASE);
    proto_uint(packet, PX_TIMEBASE_FREQUENCY, frequency);
    proto_uint(packet, PX_TIMEBASE_COUNTER, PX_COUNTER_CPU_CLOCK);
    proto_text(packet, PX_TIMEBASE_NAME, "sampled CPU time");
    proto_end(packet);
    proto_end(packet);
    proto_end(packet);
    perfetto_packet_end(px);
}

/* ---- Interning ------------------------------------------------------------------------------- */

static void put_string(struct proto_writer *packet, uint32_t field, uint64_t number,
                       const char *text)
{
    proto_begin(packet, field);
    proto_uint(packet, PX_INTERNED_IID, number + 1);
    proto_text(packet, PX_INTERNED_NAME, text);
    proto_end(packet);
}

/* The number of the mapping that a frame lies in. */
static uint32_t put_mapping(struct perfetto_samples *samples, struct proto_writer *packet,
                            const struct frame *frame)
{
    const struct trace *trace = samples->tracks->px->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t strings = trace_string_count(trace);
    uint32_t source = stacks_get_label(stacks, frame->label)->source;
    uint32_t number = frame->kind == FRAME_PYTHON ? stacks_get_source(stacks, source)->path
                                                  : stacks_get_module(stacks, frame->module)->path;
    if (number == 0 || number >= strings)
        number = strings + (frame->kind < KIND_COUNT ? frame->kind : 0);
    if (!learn(samples, number, KNOWN_MAPPING))
        return number;
    put_string(packet, PX_INTERNED_MAPPING_PATHS, number,
               number < strings ? trace_string(trace, number)->bytes
                                : kind_modules[number - strings]);
    proto_begin(packet, PX_INTERNED_MAPPINGS);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_MAPPING_PATHS, number + 1ull);
    proto_end(packet);
    return number;
}

static void put_frame(struct perfetto_samples *samples, struct proto_writer *packet,
                      uint32_t number, const struct frame *frame)
{
    uint32_t mapping = put_mapping(samples, packet, frame);
    if (learn(samples, frame->label, KNOWN_LABEL)) {
        char label[CALL_LABEL_SIZE];
        call_label(samples->tracks->px->trace, frame->label, samples->prefixes, label,
                   sizeof(label));
        put_string(packet, PX_INTERNED_FUNCTION_NAMES, frame->label, label);
    }
    proto_begin(packet, PX_INTERNED_FRAMES);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_FRAME_FUNCTION_NAME, frame->label + 1ull);
    proto_uint(packet, PX_FRAME_MAPPING, mapping + 1ull);
    proto_uint(packet, PX_FRAME_REL_PC, frame->address);
    proto_end(packet);
}

/* The frame "[no stack]", behind all others. */
static void put_no_frame(struct perfetto_samples *samples, struct proto_writer *packet)
{
    const struct frame none = {.kind = FRAME_NOTE};
    uint32_t number = samples->frame_count - 1, label = samples->label_count - 1;
    uint32_t mapping = put_mapping(samples, packet, &none);
    put_string(packet, PX_INTERNED_FUNCTION_NAMES, label, "[no stack]");
    proto_begin(packet, PX_INTERNED_FRAMES);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_FRAME_FUNCTION_NAME, label + 1ull);
    proto_uint(packet, PX_FRAME_MAPPING, mapping + 1ull);
    proto_end(packet);
}

static void put_stack(struct perfetto_samples *samples, struct proto_writer *packet,
                      uint32_t number)
{
    const struct stacks *stacks = trace_stacks_get(samples->tracks->px->trace);
    uint32_t frames[DEPTH_MAX];
    uint32_t count = stacks_frames(stacks, number, frames, DEPTH_MAX);
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    if (count == 0) {
        frames[count++] = samples->frame_count - 1;
        put_no_frame(samples, packet);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            if (learn(samples, frames[i], KNOWN_FRAME))
                put_frame(samples, packet, frames[i], stacks_get_frame(stacks, frames[i]));
        }
    }
    proto_begin(packet, PX_INTERNED_CALLSTACKS);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    for (uint32_t i = 0; i < count; i++)
        proto_uint(packet, PX_CALLSTACK_FRAMES, frames[i] + 1ull);
    proto_end(packet);
    proto_end(packet);
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* CPU time sampled so far on that CPU. */
static uint64_t count_cpu(struct perfetto_samples *samples, const struct sample *sample)
{
    uint32_t cpu = sample->cpu;
    if (cpu >= CPUS_MAX)
        return 0;
    if (cpu >= samples->cpu_count) {
        uint64_t *grown = realloc(samples->cpu_ns, (cpu + 1u) * sizeof(*grown));
        if (!grown)
            return 0;
        samples->cpu_ns = grown;
        while (samples->cpu_count <= cpu)
            samples->cpu_ns[samples->cpu_count++] = 0;
    }
    return samples->cpu_ns[cpu] +=
           sample_cpu_ns(trace_sets_get(samples->tracks->px->trace), sample);
}

static int put(struct perfetto_samples *samples, const struct sample *sample)
{
    struct perfetto_output *px = samples->tracks->px;
    const struct export_ids *ids = samples->tracks->ids;
    const struct trace_thread *thread = trace_thread_get(px->trace, sample->thread);
    uint32_t stack = sample->stack < samples->stack_count ? sample->stack : 0;
    if (!thread)
        return 0;
    if (learn(samples, 0, KNOWN_FRAME)) /* frame 0 stands for the beginning */
        begin_sequence(samples);
    bool known = thread->process < trace_process_count(px->trace);
    struct proto_writer *packet = perfetto_packet_begin(px);
    perfetto_put_time(px, PX_PACKET_TIMESTAMP, sample->time_ns);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, samples->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    if (learn(samples, stack, KNOWN_STACK))
        put_stack(samples, packet, stack);
    proto_begin(packet, PX_PACKET_PERF_SAMPLE);
    proto_uint(packet, PX_SAMPLE_CPU, sample->cpu);
    proto_uint(packet, PX_SAMPLE_PID,
               known ? ids->pids[thread->process] : ids->tids[sample->thread]);
    proto_uint(packet, PX_SAMPLE_TID, ids->tids[sample->thread]);
    proto_uint(packet, PX_SAMPLE_CALLSTACK, stack + 1ull);
    proto_uint(packet, PX_SAMPLE_CPU_MODE,
               sample->flags & SAMPLE_IN_KERNEL ? PX_MODE_KERNEL : PX_MODE_USER);
    proto_uint(packet, PX_SAMPLE_TIMEBASE_COUNT, count_cpu(samples, sample));
    proto_end(packet);
    perfetto_packet_end(px);
    return px->error;
}

/* ---- Order of time --------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* The `count` earliest of those that wait. */
static int pass_on(struct perfetto_samples *samples, size_t count)
{
    struct sample *items = samples->waiting.items;
    int error = 0;
    if (!samples->in_order)
        qsort(items, samples->waiting.count, sizeof(*items), compare_times);
    samples->in_order = true;
    for (size_t i = 0; !error && i < count; i++) {
        error = put(samples, &items[i]);
        value_pool_drop(&samples->values, &items[i]);
    }
    samples->waiting.count -= count;
    memmove(items, items + count, samples->waiting.count * sizeof(*items));
    return error;
}

int perfetto_samples_put(struct perfetto_samples *samples, const struct sample *sample)
{
    size_t count = samples->waiting.count;
    if (count && sample->time_ns < samples->waiting.items[count - 1].time_ns)
        samples->in_order = false;
    struct sample kept = *sample;
    if (value_pool_keep(&samples->values, &kept) != 0 || vec_push(&samples->waiting, kept) != 0)
        return -ENOMEM;
    return count + 1 < WAITING_MAX ? 0 : pass_on(samples, WAITING_MAX / 2);
}

int perfetto_samples_finish(struct perfetto_samples *samples)
{
    return samples->waiting.count ? pass_on(samples, samples->waiting.count) : 0;
}

/* ---- Flame chart ----------------------------------------------------------------------------- */

/* Begins and ends of a flame chart. The reader sorts by time, and events of one track and time by
 * their place in the file, which is the chart's own order. */

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
        call_label(chart->tracks->px->trace, ordinal, chart->prefixes, label, sizeof(label));
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
                        const char *prefixes, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct flame_chart_sink sink = {on_begin, on_end, chart};
    *chart = (struct perfetto_chart){.tracks = tracks, .prefixes = prefixes, .sequence = number};
    chart->label_count = stacks_label_count(trace_stacks_get(trace));
    chart->known = calloc(chart->label_count + 1u, sizeof(*chart->known));
    chart->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*chart->track_uuids));
    if (!chart->known || !chart->track_uuids)
        return -ENOMEM;
    return flame_chart_init(&chart->chart, trace, &sink);
}

void perfetto_chart_fini(struct perfetto_chart *chart)
{
    flame_chart_fini(&chart->chart);
    free(chart->known);
    free(chart->track_uuids);
    *chart = (struct perfetto_chart){0};
}
