/* SPDX-License-Identifier: MIT */
/* The object of GPU statistics, and its parts: launches (gpu_sums_launches.c) and threads while
 * GPUs were starved (gpu_sums_hosts.c). For gpu_stats.c and these only. Thread-safety: as
 * gpu_stats.h. */
#ifndef ANNOT_GPU_SUMS_H
#define ANNOT_GPU_SUMS_H

#include "gpu_queues.h"
#include "gpu_stalls.h"
#include "gpu_stats.h"
#include "hash_map.h"
#include "range_rows.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* When ranges were open, kept until the queues have reported their work. */

/* When ranges of a row were open in a process; also used for other keys. */
struct gpu_stay_list {
    uint32_t row, process;
    VEC(uint8_t) bytes;
    int64_t last_ns;
};

struct gpu_stays {
    VEC(struct gpu_stay_list) lists;
    struct map64 index;   /* by row and process: index + 1 */
    VEC(uint32_t) recent; /* by row: the same for its latest process */
    size_t size;          /* bytes of all lists */
    uint64_t least_ns;    /* shorter ones are dropped and counted: */
    uint64_t short_count, short_ns;
};

struct gpu_stay_reader {
    const uint8_t *at, *end;
    int64_t last_ns;
};

void gpu_stays_fini(struct gpu_stays *stays);
/* 0 or -ENOMEM. */
int gpu_stays_add(struct gpu_stays *stays, uint32_t row, uint32_t process, int64_t begin_ns,
                  int64_t end_ns);
/* Reads the next entry of a list; false at its end. */
struct gpu_stay_reader gpu_stays_read(const struct gpu_stay_list *list);
bool gpu_stays_next(struct gpu_stay_reader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns);

/* ---- Launches by path, and by name ----------------------------------------------------------- */

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

/* ---- Threads while GPUs were starved --------------------------------------------------------- */

/* The thread of a process with the first launch. */
struct gpu_host {
    bool known;
    uint32_t thread;
    int64_t first_ns;
};

struct gpu_hosts {
    VEC(struct gpu_host) of_process;
    struct gpu_stays stays; /* `row`: a stack; `process`: a thread and its state there */
    VEC(struct gpu_host_place) places;
};

/* ---- The object ------------------------------------------------------------------------------ */

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

void gpu_places_fini(struct gpu_places *places);
/* Adds work and its row. 0 or -ENOMEM. */
int gpu_launched_add(struct gpu_stats *work, const struct item *span, const struct gpu_row *row,
                     const struct gpu_launch *launch);
int gpu_launched_finish(struct gpu_stats *work);

void gpu_sources_fini(struct gpu_sources *sources);
/* 0 or -ENOMEM. */
int gpu_sources_add(struct gpu_sources *sources, uint32_t row, uint32_t what, uint64_t time_ns);
/* Finds the range and the function from which most of each row's time was launched; `own` as in
 * gpu_stats_find_sources. 0 or -ENOMEM. */
int gpu_sources_find(struct gpu_stats *work, const struct own_time *own);
/* Makes the list of captures. 0 or -ENOMEM. */
int gpu_captures_finish(struct gpu_stats *work);

void gpu_hosts_fini(struct gpu_hosts *hosts);
/* gpu_hosts_launched takes the event of launched work. 0 or -ENOMEM. */
int gpu_hosts_launched(struct gpu_stats *work, const struct event *event);
int gpu_hosts_take(struct gpu_stats *work, const struct sample *sample);
int gpu_hosts_finish(struct gpu_stats *work, const struct own_time *own);

#endif
