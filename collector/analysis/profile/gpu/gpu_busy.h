/* SPDX-License-Identifier: MIT */
/* Busy times: the union of intervals that come nearly in order of their start times, and its
 * overlap with any given time.
 *
 * Touching intervals are merged, so there are as many as there were gaps. An interval that comes a
 * little late is inserted at once; others wait in an array of GPU_BUSY_LATE_MAX, which is sorted
 * and merged when it is full: any order is correct, but costs more. Memory: 16 bytes for each
 * interval that is kept, 256 KiB for late ones, and 8 bytes more for an index. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_GPU_BUSY_H
#define ANNOT_GPU_BUSY_H

#include "vec.h"

#include <stdbool.h>

#include <stdint.h>

enum { GPU_BUSY_LATE_MAX = 1 << 14 };

struct gpu_interval {
    int64_t begin_ns, end_ns;
};

/* `{0}` is empty. */
struct gpu_busy {
    VEC(struct gpu_interval) items; /* disjoint, in order, with gaps between them */
    VEC(struct gpu_interval) late;
    uint64_t *before_ns; /* the index, by item: busy time of all items before it */
    uint64_t filled_ns;  /* closed gaps: part of the items, but not of sums */
};

void gpu_busy_free(struct gpu_busy *busy);

/* Ignores empty and reversed intervals. 0 or -ENOMEM. */
int gpu_busy_add(struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns);

/* Closes gaps up to `gap_ns` to save memory, after merging late intervals. 0 or -ENOMEM. */
int gpu_busy_fill(struct gpu_busy *busy, uint64_t gap_ns);

/* Call after the last interval and before any query. 0 or -ENOMEM. */
int gpu_busy_settle(struct gpu_busy *busy);

/* Adds all intervals of another object; both are settled. 0 or -ENOMEM. */
int gpu_busy_join(struct gpu_busy *busy, const struct gpu_busy *other);

/* The same, but leaves `other` undefined, only to be freed. Free of cost if `busy` is empty. */
int gpu_busy_move(struct gpu_busy *busy, struct gpu_busy *other);

/* Busy time of a settled object, without closed gaps. */
uint64_t gpu_busy_total(const struct gpu_busy *busy);

/* Busy time within an interval, with closed gaps; needs an index of the settled object. 0 or
 * -ENOMEM. Queries in order of time cost least: `near` is the place of the last one, 0 at first. */
int gpu_busy_index(struct gpu_busy *busy);
uint64_t gpu_busy_within(const struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns,
                         size_t *near);

/* Writes the time of `from` that is not in `less`, as a new settled object; both are settled. 0, or
 * -ENOMEM with an empty result. */
int gpu_busy_minus(struct gpu_busy *ret_busy, const struct gpu_busy *from,
                   const struct gpu_busy *less);

/* Returns the longest time between two intervals; 0: fewer than two. */
uint64_t gpu_busy_longest_gap(const struct gpu_busy *busy);

#endif
