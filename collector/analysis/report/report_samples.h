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

/* What takes the samples of a pass; then, once that has read all, finish: 0 or -ENOMEM. */
struct sink report_samples_sink(struct report_samples *samples);
int report_samples_finish(struct report_samples *samples, struct pass *pass,
                          const struct range_totals *totals);

struct thread_share {
    uint64_t cpu_ns, sample_count;
    uint64_t runnable_ns, blocked_ns;             /* from stretches off the CPU */
    uint64_t short_runnable_ns, short_blocked_ns; /* from those too short to be stretches */
    uint64_t gc_ns, gil_ns;                       /* CPU time collecting garbage; holding the GIL */
};

/* Of stretches off the CPU that had such a part. */
struct wait_share {
    uint64_t count;
    uint64_t total_ns, max_ns;
};

struct sample_stats {
    const struct sample_sets *sets;
    struct thread_share *threads; /* by ordinal */
    uint32_t thread_count;
    struct thread_share all;
    double cpu_squares;                         /* of the weights of CPU samples, ns^2 */
    struct wait_share waits[WAIT_REASON_COUNT]; /* until it could run again */
    struct wait_share runnable;                 /* and from then on */
    uint64_t stretch_count;
    uint64_t walk_count, complete_count; /* CPU samples with a stack; to its root on each side */
    uint64_t ends[2][STACK_END_COUNT];   /* how walks ended: native, Python; unknown ends are 0 */
};

/* The function that a Python thread was started with. */
struct thread_entry {
    uint32_t label; /* 0: not known */
    uint32_t tries; /* samples that did not show it */
    uint32_t stack; /* of the last of these */
};

struct report_samples {
    const struct trace *trace;
    const struct pass_selection *selection; /* what is not of it counts nowhere */
    bool present;                           /* there are samples; else all below is empty */
    bool off_cpu;                           /* some are stretches off the CPU */
    bool by_wall, with_waits;               /* as struct report_facts */
    struct sample_weight weight;
    const char *range; /* the functions and waits are of ranges of this name; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; else the same as all */
    struct frame_stats *frames;   /* of samples that have the weight */
    struct own_time *own;         /* both by own functions */
    struct own_tree *tree;        /* of these */
    struct wall *wall;            /* of all */
    struct line_stats *lines;     /* of samples that have the weight, and waits; or NULL */
    struct thread_entry *entries; /* by thread */
    struct path_matches matches;  /* of `range` */
    struct sample_checks checks;  /* of all */
    uint64_t late;                /* came too late to be given their ranges exactly */
};

/* `trace` outlives it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sample_stats_init(struct sample_stats *stats, const struct trace *trace);
void sample_stats_fini(struct sample_stats *stats);

/* Of sets that are neither CPU time nor off the CPU: nothing. */
void sample_stats_add(struct sample_stats *stats, const struct sample *sample);

/* The weight of CPU samples, of which the mean is taken by weight: a sum of CPU time is as precise
 * as if all its samples had this one. 0 without samples. */
double sample_stats_weight_ns(const struct sample_stats *stats);

#endif
