/* SPDX-License-Identifier: MIT */
/* Launches by path, and the ranges that launched work. Thread-safety: as gpu_stats.h. */
#ifndef ANNOT_GPU_RANGES_H
#define ANNOT_GPU_RANGES_H

#include "gpu_stats.h"
#include "gpu_stays.h"
#include "hash_map.h"
#include "vec.h"

struct gpu_launched {
    uint32_t owner, path;
    struct gpu_range sums; /* as of the innermost range */
};

struct gpu_places {
    VEC(struct gpu_launched) paths;
    struct map64 path_index; /* by owner and path: index + 1 */
    size_t recent;           /* index of the latest path */
    struct gpu_stays stays;
    VEC(struct gpu_range) ranges;
    VEC(uint32_t) range_of_row; /* index + 1 */
};

void gpu_places_fini(struct gpu_places *places);

/* Roles that count as GPU time. */
static inline bool gpu_role_is_work(uint8_t role)
{
    return role == QUEUE_ROLE_KERNEL || role == QUEUE_ROLE_COPY || role == QUEUE_ROLE_SET ||
           role == QUEUE_ROLE_GRAPH;
}

/* Further properties of work. */
struct gpu_launch {
    uint64_t bytes; /* moved */
    bool is_node;   /* node of a graph: may wait for other nodes */
};

/* Adds work and its row. 0 or -ENOMEM. */
int gpu_launched_add(struct gpu_stats *work, const struct item *span, const struct gpu_row *row,
                     const struct gpu_launch *launch);
int gpu_launched_finish(struct gpu_stats *work);

#endif
