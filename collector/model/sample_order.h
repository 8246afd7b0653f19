/* SPDX-License-Identifier: MIT */
/* Samples in order of time, stretches off the CPU by when they ended: they come nearly so, as CPUs
 * and threads tell of them. Up to SAMPLE_ORDER_MAX wait; what comes later still is counted.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_ORDER_H
#define ANNOT_SAMPLE_ORDER_H

#include "sample.h"

#include <stdbool.h>

enum { SAMPLE_ORDER_MAX = 1 << 16 };

struct sample_order_source {
    int (*next)(void *context, const struct sample **ret_samples, uint32_t *ret_count);
    void *context;
    bool live; /* more may come after next returned 0: see event_order.h */
};

struct sample_order;

/* NULL: out of memory. destroy accepts NULL. */
struct sample_order *sample_order_create(const struct sample_order_source *source);
void sample_order_destroy(struct sample_order *order);

/* The next one, valid until the next call: 1; 0 at the end, or for now; -errno. */
int sample_order_next(struct sample_order *order, const struct sample **ret_sample);

/* Live sources: nothing before this will come. INT64_MAX: nothing at all. */
void sample_order_settle(struct sample_order *order, int64_t settled_ns);

uint64_t sample_order_late_count(const struct sample_order *order);

#endif
