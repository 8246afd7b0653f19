/* SPDX-License-Identifier: MIT */
/* The rows of range statistics: found by node, entered and left. Thread-safety: none. */
#ifndef ANNOT_RANGE_ROWS_H
#define ANNOT_RANGE_ROWS_H

#include "range_parts.h"

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
    return stats->watch.told ? stats->watch.told(stats->watch.context, index, span) : 0;
}

#endif
