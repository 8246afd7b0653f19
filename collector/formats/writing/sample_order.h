/* SPDX-License-Identifier: MIT */
/* Samples of each thread in order of time. A thread that returns to a CPU is sampled before its
 * wait is reported, if a timer was pending: so a sample on a CPU is held until the next one of its
 * thread, and a wait that ended by then goes first. Thread-safety: one thread per object. */
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

/* Adds samples in the order of the pass; then once finish. Samples of unknown threads are dropped.
 * Returns the result of take. */
int sample_order_add(struct sample_order *order, const struct sample *sample);
int sample_order_finish(struct sample_order *order);

#endif
