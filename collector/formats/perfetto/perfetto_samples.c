/* SPDX-License-Identifier: MIT */
/* The sequence of samples: the parts of a stack are interned in the first packet that needs them.
 * Numbers of frames and names are those of the recording, then one for samples without a stack,
 * then those of processes. */
#include "perfetto_samples.h"

#include "call_label.h"
#include "export.h"
#include "perfetto_fields.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Weights of samples as numbers of rows --------------------------------------------------- */

/* The viewer counts samples and has no field for a weight. So each row stands for the same CPU
 * time, the unit, and a sample becomes as many rows as it has units. The rest of its weight is
 * carried to the next sample of its thread. */

/* Limit of rows, unless there are more samples. */
enum { ROWS_MAX = 100000, NEARLY = 16 };

#define NS_PER_SECOND INT64_C(1000000000)

#define UNIT_MAX_NS (INT64_MAX / 4)

#define GOLDEN_RATIO 0.61803398874989485

struct sums {
    const struct sample_sets *sets;
    uint64_t count;
    double cpu_ns;
    int64_t least_ns; /* above zero */
};

static int add(void *context, const struct item *item)
{
    struct sums *sums = context;
    int64_t cpu_ns = (int64_t)sample_cpu_ns(sums->sets, item->sample);
    if (cpu_ns <= 0)
        return 0;
    sums->count++;
    sums->cpu_ns += (double)cpu_ns;
    sums->least_ns = cpu_ns < sums->least_ns ? cpu_ns : sums->least_ns;
    return 0;
}

static int no_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    (void)ret_batch;
    return 0;
}

/* Selected ranges need the events; other selections do not. */
static int add_all(const struct export_job *job, struct sums *sums)
{
    const struct sink sink = {add, sums, WANT_SAMPLES};
    struct pass_source source = *job->source;
    if (!job->selection->range)
        source.next_events = no_events;
    int error = pass_read(&source, job->selection, &sink, 1);
    return error ? error : source.seek(source.context, INT64_MIN, false, false);
}

/* The smallest weight, but not much less than the shortest period of the recording, if samples
 * bring the CPU time since the one before; never more than the mean, as a rate may be wrong; nor so
 * small that there are more than ROWS_MAX rows and more rows than samples. 0: one row a sample. */
static int find_unit(const struct export_job *job, int64_t *ret_ns)
{
    const struct trace *trace = job->source->trace;
    struct sums sums = {.sets = trace_sets_get(trace), .least_ns = UNIT_MAX_NS};
    *ret_ns = 0;
    int error = job->source->seek ? add_all(job, &sums) : 0;
    if (error || sums.count == 0)
        return error;
    uint32_t hertz = sampling_fastest_hz(trace_sampling_get(trace));
    int64_t period_ns = hertz ? NS_PER_SECOND / hertz : 0;
    period_ns -= period_ns / NEARLY;
    int64_t unit_ns = sums.least_ns > period_ns ? sums.least_ns : period_ns;
    double rows = sums.count > ROWS_MAX ? (double)sums.count : ROWS_MAX;
    double least_ns = sums.cpu_ns / rows, mean_ns = sums.cpu_ns / (double)sums.count;
    if (mean_ns < (double)unit_ns)
        unit_ns = mean_ns > 1 ? (int64_t)mean_ns : 1;
    if (least_ns > (double)unit_ns)
        unit_ns = least_ns < (double)UNIT_MAX_NS ? (int64_t)least_ns : UNIT_MAX_NS;
    *ret_ns = unit_ns;
    return 0;
}

/* Threads begin with different parts of a unit: of many threads with less than a unit each, some
 * have a row. */
static void spread(struct perfetto_weights *weights, uint32_t thread_count)
{
    for (uint32_t i = 0; i < thread_count; i++) {
        double turns = i * GOLDEN_RATIO;
        double part = turns - (double)(uint64_t)turns;
        weights->left_ns[i] = (int64_t)(part * (double)weights->unit_ns);
    }
}

/* Reads the samples of the job, before they are exported. 0 or -errno; then call fini all the same.
 */
static int perfetto_weights_init(struct perfetto_weights *weights, const struct export_job *job)
{
    uint32_t thread_count = trace_thread_count(job->source->trace);
    *weights = (struct perfetto_weights){.left_ns = calloc(thread_count + 1ull, sizeof(int64_t))};
    int error = weights->left_ns ? find_unit(job, &weights->unit_ns) : -ENOMEM;
    if (!error)
        spread(weights, thread_count);
    return error;
}

static void perfetto_weights_fini(struct perfetto_weights *weights)
{
    free(weights->left_ns);
    *weights = (struct perfetto_weights){0};
}

/* Number of rows of the next sample of a known thread. In total at most as many as samples, or
 * 100,000, and one a thread. */
static uint64_t perfetto_weights_rows(struct perfetto_weights *weights, uint32_t thread,
                                      uint64_t cpu_ns)
{
    if (weights->unit_ns == 0)
        return 1;
    uint64_t unit_ns = (uint64_t)weights->unit_ns;
    uint64_t all_ns = (uint64_t)weights->left_ns[thread] + cpu_ns;
    weights->left_ns[thread] = (int64_t)(all_ns % unit_ns);
    return all_ns / unit_ns;
}

enum {
    KNOWN_LABEL = 1, /* bits, by number of the label, frame or string */
    KNOWN_FRAME = 2,
    KNOWN_MAPPING = 4,
    DEPTH_MAX = 2048,
    WAITING_MAX = 1 << 15, /* samples: 1.8 MB */
    NS_PER_US = 1000,
};

/* Modules of frames without a file, numbered after the strings. */
static const char *const kind_modules[] = {
    [0] = "[unknown]",           [FRAME_NATIVE] = "[native]",
    [FRAME_PYTHON] = "[python]", [FRAME_KERNEL] = "[kernel]",
    [FRAME_JIT] = "[jit]",       [FRAME_COLLECTOR] = "[garbage collector]",
    [FRAME_NOTE] = "[annot]",
};

enum { KIND_COUNT = sizeof(kind_modules) / sizeof(*kind_modules) };

int perfetto_samples_init(struct perfetto_samples *samples, struct perfetto_tracks *tracks,
                          const struct export_job *job, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    *samples = (struct perfetto_samples){
        .tracks = tracks, .prefixes = job->options->strip_prefix, .sequence = number};
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
    int error = chosen_frames_init(&samples->frames, trace, export_frames(job->options));
    if (!error)
        error = perfetto_weights_init(&samples->weights, job);
    return samples->known ? error : -ENOMEM;
}

void perfetto_samples_fini(struct perfetto_samples *samples)
{
    free(samples->known);
    chosen_frames_fini(&samples->frames);
    perfetto_weights_fini(&samples->weights);
    map64_free(&samples->stacks);
    vec_free(&samples->waiting);
    value_pool_free(&samples->values);
    *samples = (struct perfetto_samples){0};
}

/* Returns true the first time, and remembers it. */
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

/* The number of a frame made by annot, after all others: 0 = "[no stack]", then processes. */
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

/* The number of a stack in a process; *ret_new: not yet described to the reader. 0 or -ENOMEM. */
static int find_stack(struct perfetto_samples *samples, struct perfetto_stack *stack, bool *ret_new)
{
    uint64_t key = (uint64_t)stack->process << 32 | stack->stack;
    const uint64_t *found = map64_find(&samples->stacks, key + 1);
    *ret_new = found == NULL;
    stack->number = found ? *found : samples->stacks_written + 1;
    if (found)
        return 0;
    samples->stacks_written++;
    return map64_put(&samples->stacks, key + 1, stack->number);
}

/* All with one time: the only instant at which the thread is known to have had this stack. */
static void put_rows(struct proto_writer *packet, uint64_t stack, int64_t delta_us, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        proto_uint(packet, PX_PROFILE_CALLSTACK, stack);
        proto_int(packet, PX_PROFILE_TIMESTAMP_DELTA_US, i ? 0 : delta_us);
    }
}

static int put(struct perfetto_samples *samples, const struct sample *sample)
{
    struct perfetto_output *px = samples->tracks->px;
    const struct trace_thread *thread = trace_thread_get(px->trace, sample->thread);
    int64_t time_us = (sample->time_ns - px->origin_ns) / NS_PER_US;
    bool is_new;
    uint64_t rows = thread ? perfetto_weights_rows(&samples->weights, sample->thread,
                                                   sample_cpu_ns(trace_sets_get(px->trace), sample))
                           : 0;
    if (rows == 0)
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
    put_rows(packet, stack.number, time_us - samples->last_us, rows);
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

/* Passes on the `count` earliest waiting samples. */
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
