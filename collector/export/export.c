/* SPDX-License-Identifier: MIT */
/* The table of formats, and the loop that feeds one. */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const struct exporter export_chrome, export_perfetto;

const struct exporter *const exporters[] = {&export_perfetto, &export_chrome, NULL};

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

static int feed_all(struct slices *slices, const struct batch_reader *reader,
                    const struct out_stream *out)
{
    struct event_batch batch;
    int result;
    while ((result = reader->next(reader->context, &batch)) > 0) {
        result = slices_feed(slices, &batch);
        if (!result)
            result = out_error(out); /* a full disk need not wait for the last event */
        if (result)
            return result;
    }
    return result;
}

int export_run(const struct exporter *exporter, const struct trace *trace,
               const struct batch_reader *reader, struct out_stream *out)
{
    struct slices *slices = NULL;
    void *state = calloc(1, exporter->state_size);
    if (!state)
        return -ENOMEM;
    int error = exporter->begin(state, trace, out);
    if (error)
        goto out;
    struct slice_sink sink = exporter->sink(state);
    slices = slices_create(trace, &sink);
    error = slices ? feed_all(slices, reader, out) : -ENOMEM;
    if (!error)
        error = slices_finish(slices);
    if (!error)
        error = exporter->end(state);
out:
    if (exporter->destroy)
        exporter->destroy(state);
    slices_destroy(slices);
    free(state);
    return error ? error : out_error(out);
}
