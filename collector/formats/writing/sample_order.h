/* SPDX-License-Identifier: MIT */
/* Samples of each thread in order of time. A thread that comes back to a CPU is sampled before it
 * has told that it was away, if a timer waited for it: so a sample on a CPU is held until the next
 * one of its thread, and a wait that ended by then goes first. Thread-safety: none. */
#ifndef ANNOT_SAMPLE_ORDER_H
#define ANNOT_SAMPLE_ORDER_H

#include "sample.h"
#include "trace.h"

struct sample_order {
    const struct sample_sets *sets;
    struct held_sample *threads;
    uint32_t thread_count;
    int (*take)(void *context, const struct sample *sample); /* 0 or -errno */
    void *context;
};

/* `trace` outlives the order. 0 or -ENOMEM; then call fini all the same. */
int sample_order_init(struct sample_order *order, const struct trace *trace,
                      int (*take)(void *context, const struct sample *sample), void *context);
void sample_order_fini(struct sample_order *order);

/* Samples as a pass hands them out; then once finish. Those of threads that are not known are left
 * out. What take returned. */
int sample_order_add(struct sample_order *order, const struct sample *sample);
int sample_order_finish(struct sample_order *order);

#endif
