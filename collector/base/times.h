/* SPDX-License-Identifier: MIT */
/* Times in nanoseconds: arithmetic, and sorting of nearly sorted times. Thread-safety: functions
 * without state. */
#ifndef ANNOT_TIMES_H
#define ANNOT_TIMES_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t time_latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t time_earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Saturates, as sums of foreign times may overflow. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

struct time_place {
    int64_t time_ns;
    uint32_t index;
};

/* Stable sort by time. `spare` has room for `count`. Cost: count times the logarithm of the number
 * of rising stretches. */
void time_order_sort(struct time_place *places, struct time_place *spare, size_t count);

#endif
