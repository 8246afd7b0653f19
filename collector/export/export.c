/* SPDX-License-Identifier: MIT */
/* The table of formats, and the loop that feeds one. */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_NS   (INT64_MAX / 4) /* 73 years */
#define WEIGHT_MAX_NS (UINT64_C(1) << 50)

extern const struct exporter export_chrome, export_folded, export_perfetto;

const struct exporter *const exporters[] = {&export_perfetto, &export_chrome, &export_folded, NULL};

const struct exporter *exporter_by_name(const char *name)
{
    for (const struct exporter *const *at = exporters; *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}

static bool ends_with(const char *text, size_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

const struct exporter *exporter_by_path(const char *path)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    if (ends_with(path, length, ".perfetto-trace"))
        return &export_perfetto;
    for (const struct exporter *const *at = exporters; *at; at++) {
        if (ends_with(path, length, (*at)->extension))
            return *at;
    }
    return NULL;
}

static int feed_events(const struct exporter *exporter, void *state,
                       const struct export_source *source, const struct out_stream *out)
{
    struct event_batch batch;
    struct slice_sink sink = exporter->sink(state);
    struct slices *slices = slices_create(source->trace, &sink);
    int result = slices ? 0 : -ENOMEM;
    while (!result && (result = source->events.next(source->events.context, &batch)) > 0) {
        result = slices_feed(slices, &batch);
        if (!result)
            result = out_error(out); /* a full disk need not wait for the last event */
    }
    if (!result)
        result = slices_finish(slices);
    slices_destroy(slices);
    return result;
}

/* Exporters reckon with times: none may be so far out that a sum of two has no room. Only a file
 * that was made to deceive has such. */
static struct sample within_reason(const struct sample *sample)
{
    struct sample copy = *sample;
    int64_t *times[] = {&copy.time_ns, &copy.wake_ns, &copy.end_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if (*times[i] < 0)
            *times[i] = 0;
        if (*times[i] > TIME_MAX_NS)
            *times[i] = TIME_MAX_NS;
    }
    if (copy.weight_ns > WEIGHT_MAX_NS)
        copy.weight_ns = WEIGHT_MAX_NS;
    return copy;
}

static int feed_samples(const struct exporter *exporter, void *state,
                        const struct export_source *source, const struct out_stream *out)
{
    const struct sample *samples;
    uint32_t count;
    struct sample_sink sink = exporter->samples(state);
    int result = 0;
    while (!result &&
           (result = source->samples.next(source->samples.context, &samples, &count)) > 0) {
        result = 0;
        for (uint32_t i = 0; !result && i < count; i++) {
            const struct sample sample = within_reason(&samples[i]);
            result = sink.sample(sink.context, &sample);
        }
        if (!result)
            result = out_error(out);
    }
    return result;
}

int export_run(const struct exporter *exporter, const struct export_source *source,
               const struct export_options *options, struct out_stream *out)
{
    static const struct export_options defaults;
    const struct export_job job = {source->trace, options ? options : &defaults, out};
    void *state = calloc(1, exporter->state_size);
    if (!state)
        return -ENOMEM;
    int error = exporter->begin(state, &job);
    if (!error && exporter->sink)
        error = feed_events(exporter, state, source, out);
    if (!error && exporter->samples && source->samples.next)
        error = feed_samples(exporter, state, source, out);
    if (!error)
        error = exporter->end(state);
    if (exporter->destroy)
        exporter->destroy(state);
    free(state);
    return error ? error : out_error(out);
}
