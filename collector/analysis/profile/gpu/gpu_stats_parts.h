/* SPDX-License-Identifier: MIT */
/* The object of gpu_stats.h. Shared only by the files that implement it. */
#ifndef ANNOT_GPU_STATS_PARTS_H
#define ANNOT_GPU_STATS_PARTS_H

#include "gpu_hosts.h"
#include "gpu_queues.h"
#include "gpu_ranges.h"
#include "gpu_sources.h"
#include "gpu_stalls.h"
#include "gpu_stats.h"
#include "hash_map.h"
#include "range_kept.h"
#include "vec.h"

struct gpu_stats {
    const struct trace *trace;
    struct range_stats *stats;
    enum range_grouping grouping;
    struct histogram_pool *histograms;
    VEC(struct gpu_row) rows;
    VEC(const struct gpu_row *) sorted;
    struct range_keeper keeper; /* by row */
    struct wide_map row_index;
    VEC(uint32_t) row_of_name; /* by string: index + 1 of one of its rows; 0: not seen */
    size_t recent;             /* index + 1 of the latest span's row */
    VEC(struct gpu_shape) shapes;
    struct wide_map shape_index;                  /* by row and shape: index + 1 */
    uint32_t recent_shapes[1 << GPU_RECENT_BITS]; /* the same, by a part of their hash */
    VEC(uint8_t) keys; /* by string: enum gpu_key, KEY_NEW until classified */
    struct gpu_queues queues;
    struct gpu_places places;
    struct gpu_stalls stalls;
    struct gpu_hosts hosts;
    struct gpu_sources from_paths, from_stacks, from_functions;
    struct gpu_sources from_captures; /* `row` unused; `what`: the ranges, a string */
    VEC(struct gpu_from) captures;
    struct gpu_totals totals;
};

#endif
