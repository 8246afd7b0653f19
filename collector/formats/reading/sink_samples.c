/* SPDX-License-Identifier: MIT */
/* Samples of a file, and their stacks: see import_parts.h. */
#include "import_parts.h"

#include "sorter.h"
#include "stacks.h"
#include "store.h"

#include <errno.h>
#include <string.h>

enum { SORT_BYTES = 32 << 20, BATCH = 1024 };

/* A sample as it is sorted; its values follow. */
struct stored {
    struct sample sample;
    int64_t values[SAMPLE_VALUES_MAX];
};

static uint32_t keep(struct import_sink *sink, int64_t ordinal)
{
    if (ordinal < 0 && !sink->error)
        sink->error = (int)ordinal;
    return ordinal < 0 ? 0 : (uint32_t)ordinal;
}

uint32_t import_frame(struct import_sink *sink, const struct import_frame *frame)
{
    struct stacks *stacks = trace_stacks(sink->trace);
    const char *text = trace_string(sink->trace, frame->function)->bytes;
    bool python = frame->kind == FRAME_PYTHON;
    const struct code_module module = {.path = frame->module, .kind = MODULE_ELF};
    struct label label = {.first_line = frame->first_line,
                          .kind = frame->kind,
                          .text = frame->function,
                          .flags = !python && text[0] == '[' ? LABEL_PLACE : 0};
    if (frame->file)
        label.source = keep(sink, stacks_source_of(stacks, frame->file));
    if (frame->module)
        label.module = keep(sink, stacks_module(stacks, &module));
    const struct frame made = {.kind = frame->kind,
                               .module = label.module,
                               .line = frame->line,
                               .label = keep(sink, stacks_label(stacks, &label))};
    return keep(sink, stacks_frame(stacks, &made));
}

uint32_t import_stack(struct import_sink *sink, uint32_t parent, uint32_t frame)
{
    struct stacks *stacks = trace_stacks(sink->trace);
    if (stacks_stack_count(stacks) > SINK_STACKS_MAX) {
        sink->left[LEFT_STACKS]++;
        return parent;
    }
    return keep(sink, stacks_push(stacks, parent, frame));
}

int import_sample(struct import_sink *sink, const struct sample *sample)
{
    struct stored stored = {.sample = *sample};
    int64_t told_ns = sample_told_ns(sample);
    if (!sink->samples)
        sink->samples = sorter_create(sink->folder, SORT_BYTES);
    if (sink->error || !sink->samples)
        return sink->error ? sink->error : -ENOMEM;
    if (sample->time_ns < -IMPORT_TIME_MAX || told_ns > IMPORT_TIME_MAX) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    sink->first_ns = sample->time_ns < sink->first_ns ? sample->time_ns : sink->first_ns;
    sink->last_ns = told_ns > sink->last_ns ? told_ns : sink->last_ns;
    for (unsigned i = 0; i < sample->value_count && i < SAMPLE_VALUES_MAX; i++)
        stored.values[i] = sample->values[i];
    size_t size = offsetof(struct stored, values) + sample->value_count * sizeof(int64_t);
    return sorter_add(sink->samples, (struct sorter_key){told_ns, 0, 0}, &stored, (uint32_t)size);
}

static void note_thread(struct import_sink *sink, const struct sample *sample)
{
    struct trace_thread *thread = trace_thread(sink->trace, sample->thread);
    int64_t told_ns = sample_told_ns(sample);
    if (!thread->first_ns || sample->time_ns < thread->first_ns)
        thread->first_ns = sample->time_ns;
    if (told_ns > thread->last_ns)
        thread->last_ns = told_ns;
}

static int write_batch(struct import_sink *sink, const struct stored *batch, size_t count)
{
    struct sample samples[BATCH];
    for (size_t i = 0; i < count; i++) {
        samples[i] = batch[i].sample;
        samples[i].time_ns += sink->shift_ns;
        if (samples[i].end_ns)
            samples[i].end_ns += sink->shift_ns;
        samples[i].values = batch[i].values;
        note_thread(sink, &samples[i]);
    }
    return store_writer_add_samples(sink->writer, samples, count);
}

int import_samples_write(struct import_sink *sink)
{
    static struct stored batch[BATCH];
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    size_t count = 0;
    int more = 0, error = 0;
    while (sink->samples && !error &&
           (more = sorter_next(sink->samples, &key, &bytes, &size)) == 1) {
        memcpy(&batch[count++], bytes, size);
        if (count < BATCH)
            continue;
        error = write_batch(sink, batch, count);
        count = 0;
    }
    if (!error && more < 0)
        error = more;
    return error || !count ? error : write_batch(sink, batch, count);
}
