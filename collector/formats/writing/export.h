/* SPDX-License-Identifier: MIT */
/* Exporters: one file per format behind one const struct, chosen by name or by file extension.
 *
 * An exporter is a sink of one reading (read/pass.h): it sees spans, marks, counters, gaps and
 * samples, and writes into a stream (base/out_stream.h). It never sees a ring or a file of ours.
 * Adding one: docs/extending.md. */
#ifndef ANNOT_EXPORT_H
#define ANNOT_EXPORT_H

#include "chosen_frames.h"
#include "options.h"
#include "out_stream.h"
#include "pass.h"

/* For streams that exports go to. Measured: level 1 writes twice as fast and 15 % more; level 6
 * costs 35 % more time for 1 % less. */
enum { EXPORT_GZIP_LEVEL = 5 };

/* What was written of ranges as spans, and what was left out. */
struct span_counts {
    uint64_t spans;
    uint64_t brief;  /* ranges that took less than --min-duration */
    uint64_t marks;  /* in no span, or beyond the limits of one */
    uint64_t values; /* key-values beyond these */
    uint64_t flows;  /* points that are no link: in no span, or without another end */
};

struct flame_counts;
struct gpu_stacks_totals;

/* What people may ask of an export: each exporter's table of options says which of these it has.
 * All zero: the default. */
struct export_options {
    bool no_flame_chart;      /* no spans made of consecutive samples */
    bool flame_chart;         /* what used to ask for them: they are there by themselves */
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
    bool gpu;              /* what GPUs did, by who launched it: profile/gpu_stacks.h */
    const char *gpu_value; /* "time|bytes|launches" of that */
    bool off_cpu;          /* stretches off the CPU, in place of CPU time */
    bool idle;             /* and beside it */
    bool root_at_bottom;
    const char *title;
    double min_width;           /* pixels */
    double min_share, min_edge; /* of call graphs: percent */
    const char *min_duration;   /* of ranges, as options_parse_time takes it */
    const char *service;        /* what the program is called; NULL: as it is */
    /* Not asked for by people. */
    const char *subtitle;                    /* what was selected; NULL: everything */
    struct flame_counts *ret_flame;          /* what was drawn; NULL: nobody asks */
    struct span_counts *ret_spans;           /* what was written; NULL: nobody asks */
    struct gpu_stacks_totals *ret_gpu;       /* of `gpu`, from export_run; NULL: nobody asks */
    const struct gpu_stacks_totals *gpu_all; /* the same for exporters */
};

#define EXPORT_AT(field) offsetof(struct export_options, field)

/* ---- Options that several formats have ------------------------------------------------------- */

#define EXPORT_OPTION_BY                                                                           \
    {                                                                                              \
        "by", 'b', OPTION_CHOICE, EXPORT_AT(by), "process|thread|range",                           \
            "begin each stack with these", NULL                                                    \
    }
#define EXPORT_OPTION_PYTHON                                                                       \
    {                                                                                              \
        "python", 0, OPTION_FLAG, EXPORT_AT(python), NULL,                                         \
            "Python functions only: native code counts for the one that calls it", NULL            \
    }
#define EXPORT_OPTION_NATIVE                                                                       \
    {                                                                                              \
        "native", 0, OPTION_FLAG, EXPORT_AT(native), NULL,                                         \
            "all native frames: also those between Python functions, and above the innermost one", \
            NULL                                                                                   \
    }
#define EXPORT_OPTION_LINES                                                                        \
    {                                                                                              \
        "lines", 0, OPTION_FLAG, EXPORT_AT(lines), NULL, "a frame for each line of a function",    \
            NULL                                                                                   \
    }
#define EXPORT_OPTION_VALUE                                                                        \
    {                                                                                              \
        "value", 0, OPTION_TEXT, EXPORT_AT(value), "NAME",                                         \
            "what samples count for: off-cpu:blocked, alloc:bytes, ...; default: CPU time; annot " \
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
            "what of these: GPU time, bytes copied and set, or their number; implies --gpu", NULL  \
    }
#define EXPORT_OPTION_STRIP(fallback)                                                              \
    {                                                                                              \
        "strip-prefix", 0, OPTION_TEXT, EXPORT_AT(strip_prefix), "DIR[:DIR...]",                   \
            "shorten file names of functions by these; \"lib\": where Python's libraries are, "    \
            "\"base\": all folders",                                                               \
            fallback                                                                               \
    }
#define EXPORT_OPTION_FLAME_CHART                                                                  \
    {                                                                                              \
        "no-flame-chart", 0, OPTION_FLAG, EXPORT_AT(no_flame_chart), NULL,                         \
            "leave out what was on the stack of each thread, as far as samples tell", NULL         \
    }
#define EXPORT_OPTION_SERVICE                                                                      \
    {                                                                                              \
        "service", 0, OPTION_TEXT, EXPORT_AT(service), "NAME",                                     \
            "what the program is called there; default: the name of its main process", NULL        \
    }
#define EXPORT_OPTION_FLAME_CHART_OLD                                                              \
    {                                                                                              \
        "flame-chart", 0, OPTION_FLAG, EXPORT_AT(flame_chart), NULL, NULL, NULL                    \
    }

/* What is to be written, and where. */
struct export_job {
    const struct pass_source *source;
    const struct pass_selection *selection; /* NULL: all of it; exporters are given one */
    const struct export_options *options;   /* NULL: the default; exporters are given them */
    struct out_stream *out;
    struct out_stream *metadata; /* of a folder, its second file; NULL: nobody wants it */
};

/* What a format has no place for; whoever exports is told once. */
enum export_lacks {
    EXPORT_LACKS_MARKS = 1u << 0,
    EXPORT_LACKS_COUNTERS = 1u << 1,
    EXPORT_LACKS_FLOWS = 1u << 2,
    EXPORT_LACKS_WAITS = 1u << 3,
    EXPORT_LACKS_OTHER_SAMPLES = 1u << 4, /* but for those of --value */
    EXPORT_LACKS_EVENTS = 1u << 5,        /* nothing that programs report is in it */
    EXPORT_LACKS_SAMPLES = 1u << 6,
    EXPORT_LACKS_NO_NUMBERS = 1u << 7, /* values of counters that are infinite, or NaN */
};

struct exporter {
    const char *name;      /* "chrome" */
    const char *extension; /* ".json" */
    const char *summary;   /* one line of help */
    const char *carries;   /* what of a recording is in it, for the list of formats */
    const char *viewer;    /* what opens it, "at ui.perfetto.dev"; NULL: many programs */
    uint32_t lacks;        /* enum export_lacks */
    bool waits;            /* what it has of samples are stretches off the CPU, too */
    bool binary;           /* not for terminals */
    bool compressed;       /* whatever the output's name ends with */
    bool counts_lines;     /* of lines that were counted: nothing else is in it */
    bool tells_missing;    /* the file has room for what the recording lacks */
    bool counts_calls;     /* it is made of calls that were counted; -ENODATA: there are none */
    /* Its own, into struct export_options; a fallback holds for this format. NULL: none. */
    const struct option_spec *options;
    /* It is a folder of these and NULL, and `out` the first of them. NULL: it is one file. */
    const char *const *files;
    uint32_t wants; /* enum sink_wants: of which items `take` is called */
    uint32_t (*choose)(const struct export_options *options); /* in its place; may be NULL */
    size_t state_size;                                        /* zeroed memory for `state` */
    /* Each returns 0 or -errno. `job` outlives the state. Items come lane by lane: samples before
     * or behind events of their time. */
    int (*begin)(void *state, const struct export_job *job);
    int (*take)(void *state, const struct item *item);
    int (*end)(void *state);
    void (*destroy)(void *state); /* may be NULL; after begin, also on errors */
};

/* NULL-terminated table of all formats. */
extern const struct exporter *const exporters[];

/* One of them: flame graphs. -ENODATA if no sample was to be drawn. */
extern const struct exporter export_svg;

/* Two more, which can be pushed to a server. */
extern const struct exporter export_otlp, export_pprof;

/* Of which items `take` is called under these options: enum sink_wants. */
uint32_t exporter_wants(const struct exporter *exporter, const struct export_options *options);

/* NULL if unknown. By extension, the longest that fits, perhaps with ".gz" behind it. */
const struct exporter *exporter_by_name(const char *name);
const struct exporter *exporter_by_path(const char *path);

/* The name of an option that was asked for and that the exporter does not have; NULL: there is
 * none.
 */
const char *export_refuses(const struct exporter *exporter, const struct export_options *options);

/* One reading through an exporter; options that were not asked for have their fallbacks. What was
 * read goes to `ret_counts`, which may be NULL. 0 or -errno. */
int export_run(const struct exporter *exporter, const struct export_job *job,
               struct pass_counts *ret_counts);

#endif
