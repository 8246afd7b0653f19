/* SPDX-License-Identifier: MIT */
/* Samples of a report: CPU time and waits of threads and functions, their reasons, complete stacks.
 * Memory: 64 bytes a thread. Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_SAMPLES_H
#define ANNOT_REPORT_SAMPLES_H

#include "pass.h"
#include "range_stats.h"
#include "sample.h"
#include "sample_weight.h"
#include "stack_end.h"

#include <stdbool.h>
#include <stdint.h>

struct pass;
struct report_options;
struct report_samples;
struct trace;

/* 0 or -ENOMEM. fini accepts a zeroed or half filled object. */
int report_samples_begin(struct report_samples *samples, const struct report_options *options);
void report_samples_fini(struct report_samples *samples);

/* The sink takes the samples of a pass; call finish after the last: 0 or -ENOMEM. */
struct sink report_samples_sink(struct report_samples *samples);
int report_samples_finish(struct report_samples *samples, struct pass *pass,
                          const struct range_totals *totals);

struct thread_share {
    uint64_t cpu_ns, sample_count;
    uint64_t runnable_ns, blocked_ns;             /* from stretches off the CPU */
    uint64_t short_runnable_ns, short_blocked_ns; /* from waits too short to be stretches */
    uint64_t gc_ns, gil_ns;                       /* CPU time collecting garbage; holding the GIL */
};

/* One part of stretches off the CPU, over those that have it. */
struct wait_share {
    uint64_t count;
    uint64_t total_ns, max_ns;
};

struct sample_stats {
    const struct sample_sets *sets;
    struct thread_share *threads; /* by ordinal */
    uint32_t thread_count;
    struct thread_share all;
    double cpu_squares;                         /* sum of squared weights of CPU samples, ns^2 */
    struct wait_share waits[WAIT_REASON_COUNT]; /* until runnable */
    struct wait_share runnable;                 /* runnable */
    uint64_t stretch_count;
    uint64_t walk_count, complete_count; /* CPU samples with a stack; complete on both sides */
    uint64_t ends[2][STACK_END_COUNT];   /* ends of walks: native, Python; unknown ends are 0 */
};

/* The entry function of a Python thread. */
struct thread_entry {
    uint32_t label; /* 0: unknown */
    uint32_t tries; /* samples without it */
    uint32_t stack; /* of the latest of these */
};

struct report_samples {
    const struct trace *trace;
    const struct pass_selection *selection; /* other samples count nowhere */
    bool present;                           /* false: no samples; all below is empty */
    bool off_cpu;                           /* some are stretches off the CPU */
    bool by_wall, with_waits;               /* as struct report_facts */
    struct sample_weight weight;
    const char *range; /* name of ranges for the functions and waits; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; otherwise the same as all */
    struct frame_stats *frames;   /* samples with the weight */
    struct own_time *own;         /* CPU time and waits by own functions */
    struct own_tree *tree;        /* made of `own` */
    struct wall *wall;            /* of all samples */
    struct line_stats *lines;     /* of samples with the weight, and waits; or NULL */
    struct thread_entry *entries; /* by thread */
    struct path_matches matches;  /* of `range` */
    struct sample_checks checks;  /* of all samples */
    uint64_t late;                /* samples too late for an exact match with ranges */
};

/* `trace` outlives it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sample_stats_init(struct sample_stats *stats, const struct trace *trace);
void sample_stats_fini(struct sample_stats *stats);

/* Ignores sets that are neither CPU time nor off the CPU. */
void sample_stats_add(struct sample_stats *stats, const struct sample *sample);

/* Returns the mean weight of CPU samples, itself weighted: a sum of CPU time is as precise as if
 * all its samples had this weight. 0 without samples. */
double sample_stats_weight_ns(const struct sample_stats *stats);

#endif
