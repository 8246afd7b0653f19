/* SPDX-License-Identifier: MIT */
/* Declarations shared only by the files that implement range_stats.h. */
#ifndef ANNOT_RANGE_PARTS_H
#define ANNOT_RANGE_PARTS_H

#include "hash_map.h"
#include "range_stats.h"
#include "vec.h"

#include <stdint.h>

/* ---- Paths: range_paths.c ----
 *
 * Range paths as numbers: a tree of (parent, name, domain), found by hashing.
 *
 * Nodes count from 0 and are stable. Node PATH_OTHER takes everything beyond the node limit, and
 * its children. Memory: about 50 bytes a node. Thread-safety: none. */

#define PATH_OTHER 0u
#define PATH_NONE  UINT32_MAX

struct path_node {
    uint32_t parent; /* PATH_NONE: a root; then name and domain are the owner's two keys */
    uint32_t name, domain;
    uint32_t last_child; /* latest result; PATH_NONE: unset */
    uint32_t depth;      /* 0 for a root */
    uint32_t head;       /* the ancestor (or self) of depth PATH_HEAD; 0: the node is not so deep */
};

/* Depth at which the head of a long path ends; labels show the head and the innermost ranges. */
enum { PATH_HEAD = 32 };

/* Slot of a hash table: the tag rules out most other nodes without reading them, as with many paths
 * they are not in the processor's caches. */
struct path_slot {
    uint32_t tag;  /* more bits of the hash */
    uint32_t node; /* PATH_NONE: free */
};

struct path_tree {
    struct path_node *nodes;
    uint32_t count, capacity, limit;
    struct path_slot *slots;
    VEC(uint64_t) named; /* bits, by name: has nodes other than roots */
    uint32_t slot_mask;
    int error; /* sticky: -ENOMEM; then new paths are PATH_OTHER */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half-built tree. */
int path_tree_init(struct path_tree *tree, uint32_t limit);
void path_tree_fini(struct path_tree *tree);

/* Returns the node's number; adds new nodes. parent PATH_NONE makes a root. */
uint32_t path_tree_child(struct path_tree *tree, uint32_t parent, uint32_t name, uint32_t domain);

/* ---- Statistics: range_stats.c ---- */

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

/* The kept durations of a row, every `stride`-th: range_kept.c. */
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

/* Returns the duration of a span up to now. */
struct range_duration range_duration_of(const struct item *span);
/* Adds a final duration to a row. */
void range_add_duration(struct range_stats *stats, struct range_row *row,
                        struct range_duration duration);

/* Ranges in pieces (range_pieces.c), only with has_pieces. Opened: a range begins or continues;
 * closed: it ends, perhaps for now, where the duration of `piece` is that of the span. 0 or
 * -ENOMEM. */
int range_piece_opened(struct range_stats *stats, struct thread_path *path,
                       const struct item *item);
int range_piece_closed(struct thread_path *path, const struct item *span,
                       const struct range_piece *piece);
/* Ends all pieces; they cannot continue. */
void range_pieces_end(struct range_stats *stats, struct thread_path *path);
void range_pieces_free(struct thread_path *path);

/* Calls the watch, if set. */
static inline int range_tell(const struct range_stats *stats, const struct range_row *row,
                             const struct item *span)
{
    uint32_t index = (uint32_t)(row - stats->rows.items);
    return stats->watch.told ? stats->watch.told(stats->watch.context, index, span) : 0;
}

/* Open and close a range of a track. 0 or -ENOMEM. */
int range_track_opened(struct range_stats *stats, const struct event *begin, uint32_t depth);
int range_track_closed(struct range_stats *stats, const struct item *span);
void range_stats_free_tracks(struct range_stats *stats);

/* 0 or -ENOMEM. finish adds their time to the rows. */
int range_stats_take_sample(struct range_stats *stats, const struct sample *sample);
int range_stats_finish_samples(struct range_stats *stats);

/* Records a failure in `failed`. */
void range_keep(struct range_keeper *keeper, size_t row, struct range_duration duration);
void range_keeper_free(struct range_keeper *keeper);
const struct range_duration *range_keeper_get(const struct range_keeper *keeper, size_t row,
                                              uint32_t *ret_count);

void range_stats_free_samples(struct range_stats *stats);

#endif
