/* SPDX-License-Identifier: MIT */
/* Where GPU work was launched from, by name. Thread-safety: as gpu_stats.h. */
#ifndef ANNOT_GPU_SOURCES_H
#define ANNOT_GPU_SOURCES_H

#include "gpu_stats.h"
#include "hash_map.h"
#include "vec.h"

enum { GPU_RECENT_BITS = 10 };

struct gpu_source {
    uint32_t row, what; /* `what`: 1 + index of a path, 0: outside; a stack; a label; a string */
    uint64_t time_ns, count;
};

struct gpu_sources {
    VEC(struct gpu_source) items;
    struct map64 index;                    /* by row and what: index + 1 */
    uint32_t recent[1 << GPU_RECENT_BITS]; /* the same, by a part of their hash */
};

void gpu_sources_fini(struct gpu_sources *sources);
/* 0 or -ENOMEM. */
int gpu_sources_add(struct gpu_sources *sources, uint32_t row, uint32_t what, uint64_t time_ns);
/* Finds the range and the function from which most of each row's time was launched; `own` as in
 * gpu_stats_find_sources. 0 or -ENOMEM. */
int gpu_sources_find(struct gpu_stats *work, const struct own_time *own);
/* Makes the list of captures. 0 or -ENOMEM. */
int gpu_captures_finish(struct gpu_stats *work);

#endif
