/* SPDX-License-Identifier: MIT */
/* Exporters: one file per format behind one const struct, chosen by name or by file extension.
 *
 * An exporter is a sink of one reading (read/pass.h): it sees spans, marks, counters, gaps and
 * samples, and writes into a stream (base/out_stream.h). It never sees a ring or a file of ours.
 * Adding one: docs/extending.md. */
#ifndef ANNOT_EXPORT_H
#define ANNOT_EXPORT_H

#include "out_stream.h"
#include "pass.h"

/* For streams that exports go to. Measured: level 1 writes twice as fast and 15 % more; level 6
 * costs 35 % more time for 1 % less. */
enum { EXPORT_GZIP_LEVEL = 5 };

/* What stacks are grouped by: frames of their own around the root. */
enum export_group {
    EXPORT_TOGETHER = 0,
    EXPORT_BY_PROCESS = 1,
    EXPORT_BY_THREAD = 2,
    EXPORT_BY_RANGE = 3, /* the path of open ranges */
};

/* As enum call_group. */
unsigned export_call_groups(enum export_group group);

struct flame_counts;

/* What people may ask of an export; a format ignores what it has no use for. All zero: default. */
struct export_options {
    bool flame_chart;         /* spans made of consecutive samples as well */
    bool python;              /* no native frames below or above Python functions: call_tree.h */
    enum export_group group;  /* of stacks */
    const char *strip_prefix; /* file names are shortened by it: profile/call_label.h */
    /* Flame graphs: flame_svg.h. */
    bool off_cpu; /* stretches off the CPU, in place of CPU time */
    bool root_at_bottom;
    const char *title, *subtitle;
    double min_width;
    struct flame_counts *ret_flame; /* what was drawn; NULL: nobody asks */
};

/* What is to be written, and where. */
struct export_job {
    const struct pass_source *source;
    const struct pass_selection *selection; /* NULL: all of it; exporters are given one */
    const struct export_options *options;   /* NULL: the default; exporters are given them */
    struct out_stream *out;
};

struct exporter {
    const char *name;      /* "chrome" */
    const char *extension; /* ".json" */
    const char *summary;   /* one line of help */
    bool binary;           /* not for terminals */
    uint32_t wants;        /* enum sink_wants: of which items `take` is called */
    size_t state_size;     /* zeroed memory for `state` */
    /* Each returns 0 or -errno. `job` outlives the state. Items come lane by lane: samples before
     * or behind events of their time. */
    int (*begin)(void *state, const struct export_job *job);
    int (*take)(void *state, const struct item *item);
    int (*end)(void *state);
    void (*destroy)(void *state); /* may be NULL; after begin, also on errors */
};

/* NULL-terminated table of all formats. */
extern const struct exporter *const exporters[];

/* The flame graph, which is not in the table: -ENODATA if no sample was to be drawn. */
extern const struct exporter export_flame;

/* NULL if unknown. By extension: ".gz" behind it is ignored. */
const struct exporter *exporter_by_name(const char *name);
const struct exporter *exporter_by_path(const char *path);

/* One reading through an exporter. What was read goes to `ret_counts`, which may be NULL. 0 or
 * -errno. */
int export_run(const struct exporter *exporter, const struct export_job *job,
               struct pass_counts *ret_counts);

#endif
