/* SPDX-License-Identifier: MIT */
/* When something was busy: the union of intervals that come nearly in order of their begins, and
 * how much of it lies in any time that is asked for.
 *
 * Intervals that touch are one, so there are as many as there were gaps. One that comes a little
 * late is put in its place at once; others wait in an array of GPU_BUSY_LATE_MAX, which is sorted
 * and merged when it is full: any order is right, and costs more. Memory: 16 bytes for each
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
    uint64_t *before_ns; /* the index, by item: of all before it */
    uint64_t filled_ns;  /* gaps that were too short to be kept: in the items, not in sums */
};

void gpu_busy_free(struct gpu_busy *busy);

/* An empty one, or one that ends before it begins, is nothing. 0 or -ENOMEM. */
int gpu_busy_add(struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns);

/* Gaps up to so long are given up, to save memory; those that wait are merged before. 0 or
 * -ENOMEM. */
int gpu_busy_fill(struct gpu_busy *busy, uint64_t gap_ns);

/* All is in: what is asked from here on is right. 0 or -ENOMEM. */
int gpu_busy_settle(struct gpu_busy *busy);

/* Adds all of another one; both are settled. 0 or -ENOMEM. */
int gpu_busy_join(struct gpu_busy *busy, const struct gpu_busy *other);

/* The same, but what the other one has is undefined afterwards: to be freed. Cost, of the first one
 * that comes: nothing. */
int gpu_busy_move(struct gpu_busy *busy, struct gpu_busy *other);

/* Of settled ones: how long it was busy, without gaps that were given up. */
uint64_t gpu_busy_total(const struct gpu_busy *busy);

/* The same within a time, with such gaps, once there is an index of all. 0 or -ENOMEM. Times that
 * are asked for in order cost least: `near` is where the last one was, 0 at first. */
int gpu_busy_index(struct gpu_busy *busy);
uint64_t gpu_busy_within(const struct gpu_busy *busy, int64_t begin_ns, int64_t end_ns,
                         size_t *near);

/* What of one there is that another one does not have, as a settled one of its own; both are
 * settled. 0, or -ENOMEM and it is empty. */
int gpu_busy_minus(struct gpu_busy *ret_busy, const struct gpu_busy *from,
                   const struct gpu_busy *less);

/* The longest time between two intervals; 0: there is none. */
uint64_t gpu_busy_longest_gap(const struct gpu_busy *busy);

#endif
