/* SPDX-License-Identifier: MIT */
/* What `annot report` takes from samples: CPU time and waits of threads and functions.
 *
 * Thread-safety: one thread per object. */
#ifndef ANNOT_REPORT_SAMPLES_H
#define ANNOT_REPORT_SAMPLES_H

#include "frame_stats.h"
#include "pass.h"
#include "sample_stats.h"
#include "selection.h"
#include "store.h"
#include "wait_places.h"

/* The function that a Python thread was started with. */
struct thread_entry {
    uint32_t frame; /* 0: not known */
    uint32_t tries; /* samples that did not show it */
};

struct report_samples {
    const struct trace *trace;
    const struct selection *selection; /* what is not of it counts nowhere */
    bool present;                      /* there are samples; else all below is empty */
    bool off_cpu;                      /* some are stretches off the CPU */
    const char *range; /* the functions and waits are of ranges of this name; or NULL */
    struct sample_stats all;
    struct sample_stats inside;   /* of `range`; else the same as all */
    struct frame_stats *frames;   /* of samples on a CPU */
    struct wait_places *places;   /* of stretches off it */
    struct thread_entry *entries; /* by thread */
    struct path_matches matches;  /* of `range` */
    struct sample_checks checks;  /* of all */
    uint64_t late;                /* came too late to be given their ranges exactly */
};

/* `range` may be a pattern. The selection, of which its own range is not used, outlives the object.
 * 0 or -ENOMEM. fini accepts a zeroed or half filled object. */
int report_samples_begin(struct report_samples *samples, struct store_reader *reader,
                         const struct selection *selection, const char *range);
void report_samples_fini(struct report_samples *samples);

/* What takes the samples of a pass; then, once that has read all, finish. 0 or -ENOMEM. */
struct sink report_samples_sink(struct report_samples *samples);
int report_samples_finish(struct report_samples *samples, struct pass *pass);

#endif
