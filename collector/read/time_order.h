/* SPDX-License-Identifier: MIT */
/* Puts things in order of time that are in order already for the most part, as events of several
 * threads are: stretches that rise are merged. Thread-safety: pure functions. */
#ifndef ANNOT_MODEL_TIME_ORDER_H
#define ANNOT_MODEL_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct time_place {
    int64_t time_ns;
    uint32_t index;
};

/* Equal times stay in the order in which they were. `spare` has room for as many. Cost: count times
 * the logarithm of the number of stretches. */
void time_order_sort(struct time_place *places, struct time_place *spare, size_t count);

#endif
