/* SPDX-License-Identifier: MIT */
/* Durations of rows, kept one by one in the order of the pass, evenly thinned out beyond the limit.
 * Thread-safety: none. */
#ifndef ANNOT_RANGE_KEPT_H
#define ANNOT_RANGE_KEPT_H

#include "range_stats.h"
#include "vec.h"

/* The kept durations of a row, every `stride`-th. */
struct range_kept {
    struct range_duration *items;
    uint64_t seen;
    uint32_t count, capacity, stride;
};

/* Kept durations of all rows. */
struct range_keeper {
    VEC(struct range_kept) rows; /* only as many as needed */
    uint32_t limit;              /* for each row; 0: disabled */
    uint64_t total;              /* sum of capacities */
    bool failed;                 /* out of memory */
};

/* Records a failure in `failed`. */
void range_keep(struct range_keeper *keeper, size_t row, struct range_duration duration);
void range_keeper_free(struct range_keeper *keeper);
const struct range_duration *range_keeper_get(const struct range_keeper *keeper, size_t row,
                                              uint32_t *ret_count);

#endif
