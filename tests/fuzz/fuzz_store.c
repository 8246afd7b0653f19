/* SPDX-License-Identifier: MIT */
/* Fuzz target: the reader of recordings, and the pairing of its events. No crash, every batch must
 * stay within its limits, and every definition refer to existing ones. */
#include "format.h"
#include "pass.h"
#include "reader.h"
#include "recording_input.h"
#include "stacks.h"
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The guarantees that every consumer relies on. */
static void check_batch(const struct trace *trace, const struct event_batch *batch)
{
    if (batch->thread >= trace_thread_count(trace) || batch->count > STORE_BATCH_MAX)
        abort();
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (!event_known_kind(event->kind) || event->value_kind > VALUE_STRING ||
            event->thread != batch->thread)
            abort();
        const struct args args = event_args(batch, event);
        for (uint32_t k = 0; k < args.count; k++)
            if (args.items[k].kind > VALUE_STRING)
                abort();
    }
}

static int check_item(void *context, const struct item *item)
{
    uint8_t begin = item->lane == LANE_TRACK ? EVENT_TRACK_BEGIN : EVENT_PUSH;
    (void)context;
    if (item->kind != ITEM_SPAN)
        return 0;
    if (item->end_ns < item->begin_ns)
        abort();
    for (uint32_t i = 0; i < item->depth; i++)
        if (item->parents[i]->kind != begin ||
            (item->lane == LANE_TRACK && item->parents[i]->lane != item->event->lane))
            abort();
    return 0;
}

/* Parents lead to the top. */
static void check_tracks(const struct trace *trace)
{
    char label[64];
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        uint32_t levels = 0, at = i + 1;
        for (; at != 0 && levels <= TRACE_LANE_LEVELS; levels++) {
            const struct trace_lane *track = trace_lane_get(trace, at - 1);
            if (!track || (trace_process_count(trace) && !trace_process_get(trace, track->process)))
                abort();
            at = track->parent;
        }
        if (levels > TRACE_LANE_LEVELS || trace_lane_path(trace, i, label, sizeof(label)) > 63)
            abort();
    }
    for (uint32_t i = 0; i < trace_unit_count(trace); i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        if (trace_unit_find(trace, unit->domain, unit->counter) != unit->unit)
            abort();
    }
}

/* Processes have existing parents, and the chain of parents ends. */
static void check_references(const struct trace *trace)
{
    int64_t count = trace_process_count(trace), threads = trace_thread_count(trace);
    for (int64_t i = 0; i < count; i++) {
        const struct trace_process *process = trace_process_get(trace, (uint32_t)i);
        int64_t levels = 0;
        if (process->fork_thread > threads || process->note_thread > threads)
            abort();
        for (int64_t at = process->parent; at != -1; levels++) {
            if (at < 0 || at >= count || levels > count)
                abort();
            at = trace_process_get(trace, (uint32_t)at)->parent;
        }
    }
    for (uint32_t i = 0; i < threads; i++)
        if (trace_thread_get(trace, i)->process >= count)
            abort();
}

static void check_trace(struct trace *trace)
{
    char label[64];
    check_tracks(trace);
    check_references(trace);
    uint32_t count = trace_process_count(trace);
    for (uint32_t i = 0; i < count && i < 64; i++) {
        trace_process_label(trace, i, label, sizeof(label));
        trace_process_end_label(trace, i, label, sizeof(label));
    }
    for (uint32_t i = 0; i < trace_thread_count(trace) && i < 64; i++)
        trace_thread_label(trace, i, label, sizeof(label));
    uint32_t *order = calloc(count + 1, sizeof(*order));
    if (!order || trace_process_order(trace, order) != 0)
        abort();
    free(order);
}

static void check_sample(struct trace *trace, const struct sample *sample)
{
    uint32_t whats[64];
    const struct stacks *stacks = trace_stacks(trace);
    if (sample->thread >= trace_thread_count(trace) ||
        sample->stack >= stacks_stack_count(stacks) || sample->path >= stacks_path_count(stacks))
        abort();
    const struct sample_set *set = sample_set_get(trace_sets_get(trace), sample->set);
    int64_t sum = 0, length_ns = sample->end_ns - sample->time_ns;
    if ((set->count && set->count != sample->value_count) || (sample->end_ns && length_ns < 0))
        abort();
    for (int i = 0; i < sample->value_count; i++) {
        sum += sample->values[i];
        if (sample->values[i] < 0 ||
            (sample->values[i] > STORE_VALUE_MAX && sample->values[i] > length_ns))
            abort();
    }
    if (set->flags & SAMPLE_SET_STRETCH && sum != length_ns)
        abort();
    uint32_t depth = stacks_frames(stacks, sample->stack, whats, 64);
    for (uint32_t i = 0; i < depth; i++)
        if (whats[i] >= stacks_frame_count(stacks))
            abort();
    stacks_names(stacks, sample->path, whats, 64);
}

static void read_samples(struct store_reader *reader)
{
    const struct sample *samples;
    uint32_t count;
    while (store_reader_next_samples(reader, &samples, &count) == 1)
        for (uint32_t i = 0; i < count; i++)
            check_sample(store_reader_trace(reader), &samples[i]);
}

static void read_all(struct store_reader *reader)
{
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {check_item, NULL, WANT_EVENTS | WANT_BEGINS};
    struct event_batch batch;
    while (store_reader_next(reader, &batch) == 1)
        check_batch(store_reader_trace(reader), &batch);
    if (store_reader_rewind(reader) == 0 &&
        pass_read(&source, &PASS_SELECT_ALL, &sink, 1) == -ENOMEM)
        abort();
    for (uint32_t i = 0; i < 3; i++) { /* each from the last checkpoint before it */
        struct pass_selection later = PASS_SELECT_ALL;
        later.from_ns = INT64_C(1000000) << 8 * i;
        if (pass_read(&source, &later, &sink, 1) == -ENOMEM)
            abort();
    }
    if (store_reader_rewind(reader) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_reader *reader;
    char path[RECORDING_INPUT_PATH];
    int fd = recording_input(data, size, path);
    if (fd < 0)
        return 0;
    if (store_reader_open(path, &reader) == 0) {
        check_trace(store_reader_trace(reader));
        read_all(reader);
        read_samples(reader);
        store_reader_close(reader);
    }
    close(fd);
    return 0;
}
