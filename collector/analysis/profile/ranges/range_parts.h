/* SPDX-License-Identifier: MIT */
/* The object of range statistics. Shared only by the files that implement it. */
#ifndef ANNOT_RANGE_PARTS_H
#define ANNOT_RANGE_PARTS_H

#include "hash_map.h"
#include "path_tree.h"
#include "range_kept.h"
#include "range_stats.h"
#include "vec.h"

#include <stdint.h>

/* The nodes of nested open ranges, outermost first. */
typedef VEC(uint32_t) range_nodes;

/* A closed range that may continue (EVENT_CONTINUES); its duration is final once it did not. */
struct range_piece {
    uint32_t row, name, scope;
    struct range_duration duration; /* so far */
};

/* The open pushed ranges of a thread. */
struct thread_path {
    range_nodes nodes;
    VEC(struct range_piece) closed;    /* since the last new range began */
    VEC(struct range_duration) before; /* earlier pieces of open ranges, by depth; zeros: first */
    int64_t last_ns;                   /* end of its last range */
    uint32_t process;
    bool known;
};

/* A track with open ranges. */
struct track_path {
    range_nodes nodes;
    uint32_t next_free; /* index + 1 */
};

/* CPU time of samples of one owner on one path. */
struct path_weight {
    uint32_t owner, path;
    uint64_t cpu_ns, count;
};

struct path_root {
    uint32_t owner, node; /* PATH_OTHER: unset */
};

struct range_stats {
    const struct trace *trace;
    enum range_grouping grouping;
    struct sample_weight weight;
    int64_t from_ns, to_ns;
    struct range_watch watch;
    bool has_pieces; /* ranges may consist of pieces */
    struct path_tree tree;
    struct path_root roots[RANGE_KIND_COUNT]; /* the latest of each kind */
    struct histogram_pool *histograms;
    VEC(struct range_row) rows;
    struct range_keeper keeper;
    VEC(struct thread_path) paths;
    VEC(struct track_path) track_paths;
    struct map64 path_of_track;                      /* ordinal + 1: index + 1 */
    uint32_t free_track_path;                        /* index + 1 */
    struct map64 threads_of_rows, processes_of_rows; /* keys (row, ordinal) + 1 */
    VEC(struct path_weight) weights;
    struct map64 weight_index; /* by owner and path: index + 1 */
    struct range_totals totals;
    int64_t last_ns;
};

#endif
