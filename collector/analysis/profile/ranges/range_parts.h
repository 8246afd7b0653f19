/* SPDX-License-Identifier: MIT */
/* What the files behind range_stats.h share with each other only. */
#ifndef ANNOT_RANGE_PARTS_H
#define ANNOT_RANGE_PARTS_H

#include "hash_map.h"
#include "range_stats.h"
#include "vec.h"

#include <stdint.h>

/* ---- Paths: range_paths.c ----
 *
 * Range paths as numbers: a tree of (parent, name, domain), found again by hashing.
 *
 * Nodes count from 0 and stay. Node PATH_OTHER takes everything beyond the node limit, and its
 * children. Memory: about 50 bytes a node. Thread-safety: none. */

#define PATH_OTHER 0u
#define PATH_NONE  UINT32_MAX

struct path_node {
    uint32_t parent; /* PATH_NONE: a root; then name and domain are the owner's two keys */
    uint32_t name, domain;
    uint32_t last_child; /* most recently asked for; PATH_NONE = none yet */
    uint32_t depth;      /* a root has 0 */
    uint32_t head; /* the node above it, or itself, of depth PATH_HEAD; 0: it is not so deep */
};

/* Where the head of a long path ends: labels show that, and what is innermost. */
enum { PATH_HEAD = 32 };

/* Of a hash table: most nodes that are not the wanted one are told by their tag, without a look at
 * the node, which of many paths is not in the processor's caches. */
struct path_slot {
    uint32_t tag;  /* more bits of the hash */
    uint32_t node; /* PATH_NONE: free */
};

struct path_tree {
    struct path_node *nodes;
    uint32_t count, capacity, limit;
    struct path_slot *slots;
    VEC(uint64_t) named; /* bits, by name: there are nodes of it, other than roots */
    uint32_t slot_mask;
    int error; /* sticky: -ENOMEM; then new paths are PATH_OTHER */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half-built tree. */
int path_tree_init(struct path_tree *tree, uint32_t limit);
void path_tree_fini(struct path_tree *tree);

/* The node's number; new if not seen before. parent PATH_NONE makes a root. */
uint32_t path_tree_child(struct path_tree *tree, uint32_t parent, uint32_t name, uint32_t domain);

/* ---- Statistics: range_stats.c ---- */

/* The nodes of open ranges that nest, outermost first. */
typedef VEC(uint32_t) range_nodes;

/* A range that was closed and may go on (EVENT_CONTINUES): only then its duration is known. */
struct range_piece {
    uint32_t row, name, scope;
    struct range_duration duration; /* so far */
};

/* A thread: its open pushed ranges. */
struct thread_path {
    range_nodes nodes;
    VEC(struct range_piece) closed;    /* since the last begin that was none of theirs */
    VEC(struct range_duration) before; /* of the open ranges that go on, by depth; zeros: begun */
    int64_t last_ns;                   /* when its last range ended */
    uint32_t process;
    bool known;
};

/* A track on which ranges are open. */
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
    uint32_t owner, node; /* PATH_OTHER: none */
};

/* Durations of a row, every so manieth: range_kept.c. */
struct range_kept {
    struct range_duration *items;
    uint64_t seen;
    uint32_t count, capacity, stride;
};

/* Of all rows. */
struct range_keeper {
    VEC(struct range_kept) rows; /* as far as there are any */
    uint32_t limit;              /* of each; 0: none are kept */
    uint64_t total;              /* that there is room for */
    bool failed;                 /* out of memory */
};

struct range_stats {
    const struct trace *trace;
    enum range_grouping grouping;
    struct sample_weight weight;
    int64_t from_ns, to_ns;
    struct range_watch watch;
    bool has_pieces; /* ranges may be told in pieces */
    struct path_tree tree;
    struct path_root roots[RANGE_KIND_COUNT]; /* the last of each kind */
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

/* One that another thread has open and is opened again around a task: it leads to what is inside of
 * it, and counts for nothing else. */
static inline bool range_is_inherited(const struct range_stats *stats, uint32_t scope)
{
    return scope != 0 && trace_scope(stats->trace, scope)->observer == OBSERVER_INHERITED;
}

/* The row of a node; "(other)" of that kind for PATH_OTHER. */
struct range_row *range_row_at(struct range_stats *stats, enum range_kind kind, uint32_t node);

/* Rows for nodes that came to be; false without memory. */
bool range_rows_follow(struct range_stats *stats, enum range_kind kind, uint32_t owner);

/* NULL: out of memory. */
struct thread_path *range_path_of(struct range_stats *stats, uint32_t thread);

/* A range of a kind that nests began: its node goes on `nodes`. 0 or -ENOMEM. */
int range_enter(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                const struct event *begin, uint32_t depth);

/* It ended: its node leaves `nodes`. Returns its row; *ret_nested: it is inside itself, by name.
 * The thread that began it must be known (range_path_of). */
struct range_row *range_leave(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                              const struct item *span, bool *ret_nested);

/* Of a span, as far as it goes. */
struct range_duration range_duration_of(const struct item *span);
/* A duration of a row is known. */
void range_add_duration(struct range_stats *stats, struct range_row *row,
                        struct range_duration duration);

/* Ranges in pieces (range_pieces.c), only with has_pieces. One begins, or goes on; one ends,
 * perhaps for now: of `piece` the duration is that of the span. 0 or -ENOMEM. */
int range_piece_opened(struct range_stats *stats, struct thread_path *path,
                       const struct item *item);
int range_piece_closed(struct thread_path *path, const struct item *span,
                       const struct range_piece *piece);
/* Nothing goes on any more. */
void range_pieces_end(struct range_stats *stats, struct thread_path *path);
void range_pieces_free(struct thread_path *path);

/* Whoever wants to know is told. */
static inline int range_tell(const struct range_stats *stats, const struct range_row *row,
                             const struct item *span)
{
    uint32_t index = (uint32_t)(row - stats->rows.items);
    return stats->watch.told ? stats->watch.told(stats->watch.context, index, span) : 0;
}

/* Ranges of tracks begin and end. 0 or -ENOMEM. */
int range_track_opened(struct range_stats *stats, const struct event *begin, uint32_t depth);
int range_track_closed(struct range_stats *stats, const struct item *span);
void range_stats_free_tracks(struct range_stats *stats);

/* 0 or -ENOMEM. finish: gives their time to the rows. */
int range_stats_take_sample(struct range_stats *stats, const struct sample *sample);
int range_stats_finish_samples(struct range_stats *stats);

/* A failure is remembered. */
void range_keep(struct range_keeper *keeper, size_t row, struct range_duration duration);
void range_keeper_free(struct range_keeper *keeper);
const struct range_duration *range_keeper_get(const struct range_keeper *keeper, size_t row,
                                              uint32_t *ret_count);

void range_stats_free_samples(struct range_stats *stats);

#endif
