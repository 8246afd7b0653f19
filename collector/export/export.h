/* SPDX-License-Identifier: MIT */
/* Exporters: one file per format behind one const struct, chosen by name or by file extension.
 *
 * An exporter sees slices, marks, counters and gaps (model/slices.h), samples (model/sample.h), or
 * both, and writes into a stream (base/out_stream.h). It never sees a ring or a file of ours.
 * Adding one: docs/extending.md. */
#ifndef ANNOT_EXPORT_H
#define ANNOT_EXPORT_H

#include "out_stream.h"
#include "sample.h"
#include "slices.h"

/* For streams that exports go to. Measured: level 1 writes twice as fast and 15 % more; level 6
 * costs 35 % more time for 1 % less. */
enum { EXPORT_GZIP_LEVEL = 5 };

/* What stacks are grouped by: frames of their own around the root. */
enum export_group { EXPORT_TOGETHER = 0, EXPORT_BY_PROCESS = 1, EXPORT_BY_THREAD = 2 };

/* What people may ask of an export; a format ignores what it has no use for. All zero: default. */
struct export_options {
    bool flame_chart;         /* slices made of consecutive samples as well */
    bool python;              /* no native frames below or above Python functions: call_tree.h */
    enum export_group group;  /* of stacks */
    int64_t to_ns;            /* CLOCK_MONOTONIC: only what was before is given; 0 = all is */
    const char *strip_prefix; /* file names are shortened by it: profile/call_label.h */
};

struct export_job {
    const struct trace *trace; /* complete */
    const struct export_options *options;
    struct out_stream *out;
};

/* Takes the samples in recording order. 0 or -errno. */
struct sample_sink {
    int (*sample)(void *context, const struct sample *sample);
    void *context;
};

struct exporter {
    const char *name;      /* "chrome" */
    const char *extension; /* ".json" */
    const char *summary;   /* one line of help */
    size_t state_size;     /* zeroed memory for `state` */
    bool binary;           /* not for terminals */
    /* Each returns 0 or -errno. `job` outlives the state. All events come before all samples. */
    int (*begin)(void *state, const struct export_job *job);
    struct slice_sink (*sink)(void *state);     /* NULL: no use for events */
    struct sample_sink (*samples)(void *state); /* NULL: no use for samples */
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

/* Where samples come from (store_reader_next_samples has this shape). */
struct sample_reader {
    int (*next)(void *context, const struct sample **ret_samples, uint32_t *ret_count);
    void *context;
};

struct export_source {
    const struct trace *trace; /* complete */
    struct batch_reader events;
    struct sample_reader samples; /* next NULL: there are none */
};

/* Streams everything through an exporter. `options` NULL: the default. 0 or -errno. */
int export_run(const struct exporter *exporter, const struct export_source *source,
               const struct export_options *options, struct out_stream *out);

#endif
