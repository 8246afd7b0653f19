/* SPDX-License-Identifier: MIT */
/* Exporters: one file per format behind one const struct, chosen by name or by file extension.
 *
 * An exporter sees slices, marks, counters and gaps (model/slices.h) and writes into a stream
 * (base/out_stream.h). It never sees a ring or a file of ours. Adding one: docs/extending.md. */
#ifndef ANNOT_EXPORT_H
#define ANNOT_EXPORT_H

#include "out_stream.h"
#include "slices.h"

/* For streams that exports go to. Measured: level 1 writes twice as fast and 15 % more; level 6
 * costs 35 % more time for 1 % less. */
enum { EXPORT_GZIP_LEVEL = 5 };

struct exporter {
    const char *name;      /* "chrome" */
    const char *extension; /* ".json" */
    const char *summary;   /* one line of help */
    size_t state_size;     /* zeroed memory for `state` */
    /* Each returns 0 or -errno. begin: `trace` is complete. */
    int (*begin)(void *state, const struct trace *trace, struct out_stream *out);
    struct slice_sink (*sink)(void *state);
    int (*end)(void *state);
    void (*destroy)(void *state); /* may be NULL; after begin, also on errors */
};

/* NULL-terminated table of all formats. */
extern const struct exporter *const exporters[];

/* NULL if unknown. By extension: ".gz" behind it is ignored. */
const struct exporter *exporter_by_name(const char *name);
const struct exporter *exporter_by_path(const char *path);

/* Where batches come from (store_reader_next has this shape). */
struct batch_reader {
    int (*next)(void *context, struct event_batch *ret_batch);
    void *context;
};

/* Streams all batches through an exporter. 0 or -errno. */
int export_run(const struct exporter *exporter, const struct trace *trace,
               const struct batch_reader *reader, struct out_stream *out);

#endif
