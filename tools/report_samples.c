/* SPDX-License-Identifier: MIT */
/* The passes over the samples that report_samples.h speaks of. Thread-safety: none. */
#include "report_samples.h"

#include "recording.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_TRIES = 32 };

/* Stretches off the CPU, before any event is read. */
static int read_stretches(struct report_samples *samples, struct store_reader *reader)
{
    const struct sample *items;
    uint32_t count;
    int status;
    samples->times = thread_times_create(store_reader_trace(reader));
    if (!samples->times)
        return -ENOMEM;
    while ((status = store_reader_next_samples(reader, &items, &count)) == 1) {
        for (uint32_t i = 0; i < count; i++) {
            struct sample part = items[i];
            samples->off_cpu = samples->off_cpu || part.kind == SAMPLE_OFF_CPU;
            if (selection_cut_sample(samples->selection, &part) &&
                thread_times_add(samples->times, &part) != 0)
                return -ENOMEM;
        }
    }
    thread_times_finish(samples->times);
    return status ? status : store_reader_rewind(reader);
}

int report_samples_begin(struct report_samples *samples, struct store_reader *reader,
                         const struct selection *selection, const char *range)
{
    struct store_info info;
    struct trace *trace = store_reader_trace(reader);
    store_reader_info(reader, &info);
    *samples = (struct report_samples){
        .trace = trace, .selection = selection, .present = info.sample_count > 0, .range = range};
    if (sample_stats_init(&samples->all, trace) != 0 ||
        sample_stats_init(&samples->inside, trace) != 0)
        return -ENOMEM;
    return samples->present ? read_stretches(samples, reader) : 0;
}

void report_samples_fini(struct report_samples *samples)
{
    thread_times_destroy(samples->times);
    frame_stats_destroy(samples->frames);
    wait_places_destroy(samples->places);
    free(samples->entries);
    sample_stats_fini(&samples->all);
    sample_stats_fini(&samples->inside);
}

typedef int take_fn(struct report_samples *samples, const struct sample *sample, void *context);

static int walk(struct report_samples *samples, struct store_reader *reader,
                const struct sample_filter *filter, take_fn *take, void *context)
{
    const struct sample_source source = recording_source(reader);
    const struct sample *sample;
    struct sample_walk *walk;
    int status = sample_walk_create(&source, filter, &walk);
    if (status)
        return status;
    while (status >= 0 && (status = sample_walk_next(walk, &sample)) == 1) {
        struct sample part = *sample;
        if (selection_cut_sample(samples->selection, &part))
            status = take(samples, &part, context);
    }
    samples->checks = sample_walk_checks(walk);
    sample_walk_destroy(walk);
    return status;
}

/* The outermost function outside of Python's own module; 0: no Python. */
static uint32_t entry_function(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t found = 0;
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        uint32_t ordinal = stacks_get_stack(stacks, stack)->frame;
        const struct frame *frame = stacks_get_frame(stacks, ordinal);
        const char *file = trace_string(trace, frame->file)->bytes;
        if (frame->kind == FRAME_PYTHON && strcmp(text_base_name(file), "threading.py") != 0)
            found = ordinal;
    }
    return found;
}

/* The first samples of a thread may lack it: it was not there yet, or its Python was not known. */
static void look_for_entry(struct report_samples *samples, const struct sample *sample)
{
    struct thread_entry *entry = &samples->entries[sample->thread];
    if (entry->frame || entry->tries >= ENTRY_TRIES || sample->stack == 0)
        return;
    entry->frame = entry_function(samples->trace, sample->stack);
    entry->tries += entry->frame == 0;
}

static int take_inside(struct report_samples *samples, const struct sample *sample, void *context)
{
    (void)context;
    sample_stats_add(&samples->inside, sample);
    if (sample->kind == SAMPLE_CPU)
        frame_stats_add(samples->frames, sample);
    return wait_places_add(samples->places, sample);
}

static int take_any(struct report_samples *samples, const struct sample *sample, void *context)
{
    sample_stats_add(&samples->all, sample);
    if (sample->thread < samples->all.thread_count)
        look_for_entry(samples, sample);
    int status = samples->range ? 0 : take_inside(samples, sample, NULL);
    return status ? status : range_stats_add_sample(context, sample);
}

int report_samples_read(struct report_samples *samples, struct store_reader *reader,
                        struct range_stats *stats)
{
    struct sample_filter inside = {.range = samples->range, .pattern = true};
    if (!samples->present)
        return 0;
    samples->frames = frame_stats_create(store_reader_trace(reader));
    samples->places = wait_places_create(store_reader_trace(reader));
    samples->entries = calloc((size_t)samples->all.thread_count + 1, sizeof(*samples->entries));
    if (!samples->frames || !samples->places || !samples->entries)
        return -ENOMEM;
    int status = walk(samples, reader, &(struct sample_filter){0}, take_any, stats);
    if (!status)
        status = range_stats_finish_samples(stats);
    if (!status && samples->range)
        status = walk(samples, reader, &inside, take_inside, NULL);
    return status ? status : frame_stats_finish(samples->frames);
}
