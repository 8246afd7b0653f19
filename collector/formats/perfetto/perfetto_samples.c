/* SPDX-License-Identifier: MIT */
/* The sequence of samples: what a stack needs is interned in the packet that needs it first.
 * Numbers of frames and names are those of the recording, then one for samples without a stack,
 * then those of processes. */
#include "perfetto_parts.h"

#include "call_label.h"
#include "perfetto_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN_LABEL = 1, /* bits, by number of the label, frame or string */
    KNOWN_FRAME = 2,
    KNOWN_MAPPING = 4,
    DEPTH_MAX = 2048,
    WAITING_MAX = 1 << 15, /* samples: 1.8 MB */
    NS_PER_US = 1000,
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
                          const struct export_options *wanted, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    *samples = (struct perfetto_samples){
        .tracks = tracks, .prefixes = wanted->strip_prefix, .sequence = number};
    samples->frame_count = stacks_frame_count(stacks);
    samples->label_count = stacks_label_count(stacks);
    samples->stack_count = stacks_stack_count(stacks);
    samples->string_count = trace_string_count(trace) + KIND_COUNT;
    samples->last_us = (tracks->px->begin_ns - tracks->px->origin_ns) / NS_PER_US;
    uint32_t most = samples->frame_count;
    most = samples->label_count > most ? samples->label_count : most;
    most = samples->string_count > most ? samples->string_count : most;
    samples->in_order = true;
    samples->known = calloc(most + trace_process_count(trace) + 3ull, 1);
    int error = chosen_frames_init(&samples->frames, trace, export_frames(wanted));
    return samples->known ? error : -ENOMEM;
}

void perfetto_samples_fini(struct perfetto_samples *samples)
{
    free(samples->known);
    chosen_frames_fini(&samples->frames);
    map64_free(&samples->stacks);
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
    const struct perfetto_tracks *tracks = samples->tracks;
    struct proto_writer *packet =
        perfetto_defaults_begin(tracks->px, samples->sequence, PX_CLOCK_MONOTONIC);
    proto_end(packet);
    proto_begin(packet, PX_PACKET_THREAD_DESCRIPTOR);
    proto_uint(packet, PX_THREAD_PID, tracks->session_pid);
    proto_uint(packet, PX_THREAD_TID, tracks->session_pid);
    proto_int(packet, PX_THREAD_REFERENCE_TIMESTAMP_US, samples->last_us);
    proto_end(packet);
    perfetto_packet_end(tracks->px);
    samples->begun = true;
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

/* A frame of ours, behind all others: 0 = "[no stack]", then processes. Its number. */
static uint32_t put_note(struct perfetto_samples *samples, struct proto_writer *packet,
                         uint32_t ordinal, const char *text)
{
    const struct frame none = {.kind = FRAME_NOTE};
    uint32_t number = samples->frame_count + ordinal, label = samples->label_count + ordinal;
    if (!learn(samples, number, KNOWN_FRAME))
        return number;
    uint32_t mapping = put_mapping(samples, packet, &none);
    put_string(packet, PX_INTERNED_FUNCTION_NAMES, label, text);
    proto_begin(packet, PX_INTERNED_FRAMES);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_FRAME_FUNCTION_NAME, label + 1ull);
    proto_uint(packet, PX_FRAME_MAPPING, mapping + 1ull);
    proto_end(packet);
    return number;
}

static uint32_t put_process(struct perfetto_samples *samples, struct proto_writer *packet,
                            uint32_t process)
{
    const struct trace *trace = samples->tracks->px->trace;
    char label[EXPORT_LABEL_SIZE];
    uint32_t count = trace_process_count(trace);
    trace_process_label(trace, process, label, sizeof(label));
    return put_note(samples, packet, 1 + (process < count ? process : count), label);
}

static void put_stack(struct perfetto_samples *samples, struct proto_writer *packet,
                      const struct perfetto_stack *stack)
{
    const struct stacks *stacks = trace_stacks_get(samples->tracks->px->trace);
    uint32_t frames[DEPTH_MAX + 1];
    uint32_t count = chosen_frames_get(&samples->frames, stack->stack, frames + 1, DEPTH_MAX);
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    frames[0] = put_process(samples, packet, stack->process);
    for (uint32_t i = 1; i <= count; i++) {
        if (learn(samples, frames[i], KNOWN_FRAME))
            put_frame(samples, packet, frames[i], stacks_get_frame(stacks, frames[i]));
    }
    if (count == 0)
        frames[++count] = put_note(samples, packet, 0, "[no stack]");
    proto_begin(packet, PX_INTERNED_CALLSTACKS);
    proto_uint(packet, PX_INTERNED_IID, stack->number);
    for (uint32_t i = 0; i <= count; i++)
        proto_uint(packet, PX_CALLSTACK_FRAMES, frames[i] + 1ull);
    proto_end(packet);
    proto_end(packet);
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* The number of a stack in a process; *ret_new: the reader does not know it yet. 0 or -ENOMEM. */
static int find_stack(struct perfetto_samples *samples, struct perfetto_stack *stack, bool *ret_new)
{
    uint64_t key = (uint64_t)stack->process << 32 | stack->stack;
    const uint64_t *found = map64_find(&samples->stacks, key + 1);
    *ret_new = found == NULL;
    stack->number = found ? *found : samples->stacks_told + 1;
    if (found)
        return 0;
    samples->stacks_told++;
    return map64_put(&samples->stacks, key + 1, stack->number);
}

static int put(struct perfetto_samples *samples, const struct sample *sample)
{
    struct perfetto_output *px = samples->tracks->px;
    const struct trace_thread *thread = trace_thread_get(px->trace, sample->thread);
    int64_t time_us = (sample->time_ns - px->origin_ns) / NS_PER_US;
    bool is_new;
    if (!thread)
        return 0;
    struct perfetto_stack stack = {
        .process = thread->process,
        .stack = sample->stack < samples->stack_count ? sample->stack : 0,
    };
    int error = find_stack(samples, &stack, &is_new);
    if (error)
        return error;
    if (!samples->begun)
        begin_sequence(samples);
    struct proto_writer *packet = perfetto_packet_begin(px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, samples->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    if (is_new)
        put_stack(samples, packet, &stack);
    proto_begin(packet, PX_PACKET_STREAMING_PROFILE);
    proto_uint(packet, PX_PROFILE_CALLSTACK, stack.number);
    proto_int(packet, PX_PROFILE_TIMESTAMP_DELTA_US, time_us - samples->last_us);
    proto_end(packet);
    perfetto_packet_end(px);
    samples->last_us = time_us;
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
