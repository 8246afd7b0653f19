/* SPDX-License-Identifier: MIT */
/* Exporters: one file per format with one const struct, chosen by name or by file extension.
 *
 * An exporter is a sink of one reading (read/pass.h): it receives spans, marks, counters, gaps and
 * samples, and writes into a stream (base/out_stream.h). It never sees a ring or a recording file.
 * Adding one: docs/extending.md. */
#ifndef ANNOT_EXPORT_H
#define ANNOT_EXPORT_H

#include "chosen_frames.h"
#include "options.h"
#include "out_stream.h"
#include "pass.h"
#include "sample_weight.h"

/* For the output streams of exports. Measured: level 1 writes twice as fast and 15 % more; level 6
 * costs 35 % more time for 1 % less. */
enum { EXPORT_GZIP_LEVEL = 5 };

/* Counts of ranges written as spans, and of omitted items. */
struct span_counts {
    uint64_t spans;
    uint64_t brief;  /* ranges shorter than --min-duration */
    uint64_t marks;  /* in no span, or beyond the limits of one */
    uint64_t values; /* key-values beyond these */
    uint64_t flows;  /* points without a link: in no span, or without another end */
};

struct flame_counts;
struct gpu_stacks_totals;

/* Options of an export: each exporter's table of options lists the ones it has. All zero: the
 * default. */
struct export_options {
    bool no_flame_chart;      /* no spans made of consecutive samples */
    bool scheduler;           /* CPUs and the kernel's states of threads */
    bool python;              /* no native frames below or above Python functions: call_tree.h */
    bool native;              /* all native frames: enum frame_choice */
    bool lines;               /* frames are lines of functions */
    const char *by;           /* of stacks: export_call_groups */
    const char *strip_prefix; /* file names are shortened by it: profile/call_label.h */
    const char *rank, *world_size; /* of a parallel program: counts; NULL: as recorded */
    const char *table;             /* "ranges|samples|counters|marks" */
    const char *value;             /* of samples, as sample_weight_find takes it; NULL: CPU time */
    /* Flame graphs: flame_svg.h. */
    bool gpu;              /* work of GPUs, by its launch: profile/gpu_stacks.h */
    const char *gpu_value; /* "time|bytes|launches" of that */
    bool off_cpu;          /* stretches off the CPU, instead of CPU time */
    bool idle;             /* and in addition to it */
    bool root_at_bottom;
    const char *title;
    double min_width;           /* pixels */
    double min_share, min_edge; /* of call graphs: percent */
    const char *min_duration;   /* of ranges, as options_parse_time takes it */
    const char *service;        /* name of the program; NULL: as recorded */
    /* Set by the caller, not by the user. */
    const char *subtitle;                    /* description of the selection; NULL: everything */
    struct flame_counts *ret_flame;          /* counts of the drawn graph; NULL: not wanted */
    struct span_counts *ret_spans;           /* of written and omitted items; NULL: not wanted */
    struct gpu_stacks_totals *ret_gpu;       /* of `gpu`, from export_run; NULL: not wanted */
    const struct gpu_stacks_totals *gpu_all; /* the same for exporters */
};

#define EXPORT_AT(field) offsetof(struct export_options, field)

/* ---- Options that several formats have ------------------------------------------------------- */

#define EXPORT_OPTION_BY                                                                           \
    {                                                                                              \
        "by", 'b', OPTION_CHOICE, EXPORT_AT(by), "process|thread|range",                           \
            "group stacks below an added root frame", NULL                                         \
    }
#define EXPORT_OPTION_PYTHON                                                                       \
    {                                                                                              \
        "python-only", 0, OPTION_FLAG, EXPORT_AT(python), NULL,                                    \
            "Python functions only; native code counts for its Python caller", NULL                \
    }
#define EXPORT_OPTION_NATIVE                                                                       \
    {                                                                                              \
        "native", 0, OPTION_FLAG, EXPORT_AT(native), NULL,                                         \
            "all native frames, also those between and above Python functions", NULL               \
    }
#define EXPORT_OPTION_LINES                                                                        \
    {                                                                                              \
        "lines", 0, OPTION_FLAG, EXPORT_AT(lines), NULL, "a frame for each line of a function",    \
            NULL                                                                                   \
    }
#define EXPORT_OPTION_VALUE                                                                        \
    {                                                                                              \
        "value", 0, OPTION_TEXT, EXPORT_AT(value), "NAME",                                         \
            "weight of samples: off-cpu:blocked, alloc:bytes, ... (default: CPU time); annot "     \
            "info lists the names",                                                                \
            NULL                                                                                   \
    }
#define EXPORT_OPTIONS_GPU                                                                         \
    {"gpu",       0,                                                                               \
     OPTION_FLAG, EXPORT_AT(gpu),                                                                  \
     NULL,        "GPU time of kernels, copies, sets and graphs, by the stack that launched them", \
     NULL},                                                                                        \
    {                                                                                              \
        "gpu-value", 0, OPTION_CHOICE, EXPORT_AT(gpu_value), "time|bytes|launches",                \
            "draw GPU time, bytes copied and set, or the number of launches; implies --gpu", NULL  \
    }
#define EXPORT_OPTION_STRIP(fallback)                                                              \
    {                                                                                              \
        "strip-prefix", 0, OPTION_TEXT, EXPORT_AT(strip_prefix), "DIR[:DIR...]",                   \
            "remove these prefixes of file names; \"lib\": folders of Python's libraries, "        \
            "\"base\": all folders",                                                               \
            fallback                                                                               \
    }
#define EXPORT_OPTION_FLAME_CHART                                                                  \
    {                                                                                              \
        "no-flame-chart", 0, OPTION_FLAG, EXPORT_AT(no_flame_chart), NULL,                         \
            "leave out the flame chart of each thread, which is made from samples", NULL           \
    }
#define EXPORT_OPTION_SERVICE                                                                      \
    {                                                                                              \
        "service", 0, OPTION_TEXT, EXPORT_AT(service), "NAME",                                     \
            "service name of the program (default: the name of its main process)", NULL            \
    }

/* Input and output of an export. */
struct export_job {
    const struct pass_source *source;
    const struct pass_selection *selection; /* NULL: all of it; exporters always get one */
    const struct export_options *options;   /* NULL: the default; exporters always get them */
    struct out_stream *out;
    struct out_stream *metadata; /* of a folder, its second file; NULL: not wanted */
};

/* Contents that a format cannot hold; the user gets one warning. */
enum export_lacks {
    EXPORT_LACKS_MARKS = 1u << 0,
    EXPORT_LACKS_COUNTERS = 1u << 1,
    EXPORT_LACKS_FLOWS = 1u << 2,
    EXPORT_LACKS_WAITS = 1u << 3,
    EXPORT_LACKS_OTHER_SAMPLES = 1u << 4, /* except those of --value */
    EXPORT_LACKS_EVENTS = 1u << 5,        /* it has no events of programs */
    EXPORT_LACKS_SAMPLES = 1u << 6,
    EXPORT_LACKS_NO_NUMBERS = 1u << 7, /* values of counters that are infinite, or NaN */
};

struct exporter {
    const char *name;      /* "chrome" */
    const char *extension; /* ".json" */
    const char *summary;   /* one line of help */
    const char *carries;   /* contents of the file, for the list of formats */
    const char *viewer;    /* how to open it, "at ui.perfetto.dev"; NULL: many programs */
    uint32_t lacks;        /* enum export_lacks */
    bool waits;            /* its samples include stretches off the CPU */
    bool binary;           /* not for terminals */
    bool compressed;       /* independent of the output's name */
    bool counts_lines;     /* it holds only counted lines */
    bool tells_missing;    /* the file has room for losses of the recording */
    bool single_samples;   /* it holds each sample: values that frees take off are refused */
    bool counts_calls;     /* it holds counted calls; -ENODATA: without calls */
    bool holds_memory;     /* it holds memory only; -ENODATA: without samples of memory */
    /* Its options, in struct export_options; a fallback applies to this format. NULL: without
     * options. */
    const struct option_spec *options;
    /* Names of the files of its folder, ended by NULL; `out` is the first. NULL: it is one file. */
    const char *const *files;
    uint32_t wants; /* enum sink_wants: the items for which `take` is called */
    uint32_t (*choose)(const struct export_options *options); /* overrides `wants`; may be NULL */
    size_t state_size;                                        /* zeroed memory for `state` */
    /* Each returns 0 or -errno. `job` outlives the state. Items come lane by lane: samples before
     * or after events of their time. */
    int (*begin)(void *state, const struct export_job *job);
    int (*take)(void *state, const struct item *item);
    int (*end)(void *state);
    void (*destroy)(void *state); /* may be NULL; after begin, also on errors */
};

/* NULL-terminated table of all formats. */
extern const struct exporter *const exporters[];

/* The table entry for flame graphs. -ENODATA if no sample was drawn. */
extern const struct exporter export_svg;

/* The table entries of formats that can be pushed to a server. */
extern const struct exporter export_otlp, export_pprof;

/* The items for which `take` is called with these options: enum sink_wants. */
uint32_t exporter_wants(const struct exporter *exporter, const struct export_options *options);

/* NULL if unknown. By extension: the longest match, optionally followed by ".gz". */
const struct exporter *exporter_by_name(const char *name);
const struct exporter *exporter_by_path(const char *path);

/* The name of an option that is set but not supported by the exporter; NULL: all are supported. */
const char *export_refuses(const struct exporter *exporter, const struct export_options *options);

/* One reading through an exporter; options that are not set get their fallbacks. The counts of the
 * pass go to `ret_counts`, which may be NULL. 0 or -errno. */
int export_run(const struct exporter *exporter, const struct export_job *job,
               struct pass_counts *ret_counts);

/* Stacks of samples selected by the options of an export: frames, groups, and trees of calls. */

struct call_tree;
struct export_job;
struct export_options;
struct sample;

/* The choice of frames in the stacks of a timeline. */
enum frame_choice export_frames(const struct export_options *options);

/* An empty tree for the samples of a job with its options, and the weight that is added up: 0 or
 * -errno. The second adds a sample, if it has that weight. */
int export_tree_create(const struct export_job *job, enum frame_choice frames,
                       struct sample_weight *ret_weight, struct call_tree **ret_tree);
int export_tree_add(const struct export_job *job, struct sample_weight weight,
                    struct call_tree *tree, const struct sample *sample);

#endif
