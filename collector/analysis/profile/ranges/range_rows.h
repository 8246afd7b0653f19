/* SPDX-License-Identifier: MIT */
/* The object of range statistics, and its rows: found by node, entered and left. Only for the files
 * that implement range_stats.h. Thread-safety: none. */
#ifndef ANNOT_RANGE_ROWS_H
#define ANNOT_RANGE_ROWS_H

#include "hash_map.h"
#include "path_tree.h"
#include "range_stats.h"
#include "vec.h"

#include <stdint.h>

/* Durations of rows, kept one by one in the order of the pass, evenly thinned out beyond the
 * limit. */

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

/* True for a range of another thread that is reopened around a task: it is the parent of the ranges
 * inside, and is not counted. */
static inline bool range_is_inherited(const struct range_stats *stats, uint32_t scope)
{
    return scope != 0 && trace_scope(stats->trace, scope)->observer == OBSERVER_INHERITED;
}

/* Returns the row of a node; the row "(other)" of that kind for PATH_OTHER. */
struct range_row *range_row_at(struct range_stats *stats, enum range_kind kind, uint32_t node);

/* Adds rows for new nodes; false: out of memory. */
bool range_rows_follow(struct range_stats *stats, enum range_kind kind, uint32_t owner);

/* NULL: out of memory. */
struct thread_path *range_path_of(struct range_stats *stats, uint32_t thread);

/* Begins a nesting range: pushes its node on `nodes`. 0 or -ENOMEM. */
int range_enter(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                const struct event *begin, uint32_t depth);

/* Ends it: pops its node from `nodes`. Returns its row; *ret_nested: true if, by name, it is inside
 * itself. The thread that began it must be known (range_path_of). */
struct range_row *range_leave(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                              const struct item *span, bool *ret_nested);

/* Returns the row of an event without parents, and counts it there. 0 or -ENOMEM. */
int range_flat_row(struct range_stats *stats, enum range_kind kind, const struct event *event,
                   struct range_row **ret_row);

/* Returns the length of a span; 0 if it ends before it begins. */
static inline uint64_t range_length_ns(const struct item *span)
{
    return span->end_ns > span->begin_ns ? (uint64_t)(span->end_ns - span->begin_ns) : 0;
}

/* Adds the values that pieces of a range have, too. */
void range_add_part(struct range_row *row, const struct item *span);
/* Returns the duration of a span up to now. */
struct range_duration range_duration_of(const struct item *span);
/* Adds a final duration to a row. */
void range_add_duration(struct range_stats *stats, struct range_row *row,
                        struct range_duration duration);

/* Calls the watch, if set. */
static inline int range_report(const struct range_stats *stats, const struct range_row *row,
                               const struct item *span)
{
    uint32_t index = (uint32_t)(row - stats->rows.items);
    return stats->watch.ended ? stats->watch.ended(stats->watch.context, index, span) : 0;
}

#endif
