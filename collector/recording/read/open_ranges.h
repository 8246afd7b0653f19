/* SPDX-License-Identifier: MIT */
/* The ranges open on a lane: pushed, popped, and reported to the sinks of a pass.
 *
 * Thread-safety: one thread per object. */
#ifndef ANNOT_OPEN_RANGES_H
#define ANNOT_OPEN_RANGES_H

#include "event.h"
#include "pass.h"
#include "sample.h"
#include "times.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass;

struct open_range {
    struct event begin; /* first, see open_ranges_parent(); never before the selection. An
                         * EVENT_SPAN has its end */
    uint64_t level;     /* threads: open ranges below it, as the producer counts; tracks: open
                         * hidden ranges that began directly inside it */
    int64_t child_ns, ranges_ns; /* as struct item */
    struct off_share off;        /* of its thread, until it began */
    size_t first_arg;
    uint32_t path;     /* of model/stacks.h; 0: not yet computed */
    uint32_t instance; /* of its thread's pushes; 0: unknown */
    bool wanted;       /* selected */
    bool cut;          /* it began before the selection */
    bool told;         /* ITEM_OPENED was reported */
    bool call;         /* event_is_python_call() */
    uint32_t ranges;   /* selected ones that are not calls: around it, and itself */
};

/* Below `parent`, or NULL. */
static inline void open_range_place(struct open_range *range, const struct open_range *parent,
                                    bool call)
{
    range->ranges_ns = 0;
    range->call = call;
    range->ranges = (parent ? parent->ranges : 0) + !call;
}

/* Number of ranges around it. */
static inline uint32_t open_range_outer(const struct open_range *range)
{
    return range->ranges - !range->call;
}

/* Adds its durations to the range around it. */
static inline void open_range_add(struct open_range *parent, const struct open_range *range,
                                  int64_t duration_ns)
{
    parent->child_ns = time_add(parent->child_ns, duration_ns);
    parent->ranges_ns = time_add(parent->ranges_ns, range->call ? range->ranges_ns : duration_ns);
}

/* Innermost last. Their key-values are in one array, in the order of the ranges. */
struct open_ranges {
    struct open_range *items;
    const struct event **begins; /* of the wanted ones */
    size_t count, capacity, wanted_count, begins_capacity;
    VEC(struct arg) args;
};

/* The innermost range; NULL if the lane has no open range. */
static inline struct open_range *open_ranges_top(const struct open_ranges *open)
{
    return open->count ? &open->items[open->count - 1] : NULL;
}

/* The innermost wanted range. */
static inline struct open_range *open_ranges_parent(const struct open_ranges *open)
{
    return open->wanted_count ? (struct open_range *)open->begins[open->wanted_count - 1] : NULL;
}

/* Sets the depth and parents of an item inside of all wanted ranges. */
static inline void open_ranges_place(const struct open_ranges *open, struct item *item)
{
    const struct open_range *parent = open_ranges_parent(open);
    item->depth = (uint32_t)open->wanted_count;
    item->ranges = parent ? parent->ranges : 0;
    item->parents = open->begins;
}

/* 0 or -ENOMEM. */
int open_ranges_grow(struct open_ranges *open);
int open_ranges_keep_args(struct open_ranges *open, const struct args *args);
void open_ranges_free(struct open_ranges *open);

/* `call`: event_is_python_call(). NULL: out of memory. */
static inline struct open_range *open_ranges_push(struct open_ranges *open,
                                                  const struct event *event,
                                                  const struct args *args, bool wanted, bool call)
{
    if (open->count >= open->capacity && open_ranges_grow(open) != 0)
        return NULL;
    size_t first_arg = open->args.count;
    if (args->count && open_ranges_keep_args(open, args) != 0)
        return NULL;
    const struct open_range *parent = open_ranges_parent(open);
    struct open_range *range = &open->items[open->count++];
    range->begin = *event; /* one by one: this is the hottest place of all reading */
    range->level = 0;
    range->child_ns = 0;
    open_range_place(range, parent, call);
    range->off.runnable_ns = range->off.blocked_ns = 0;
    range->first_arg = first_arg;
    range->path = range->instance = 0;
    range->wanted = wanted;
    range->cut = range->told = false;
    if (wanted)
        open->begins[open->wanted_count++] = &range->begin;
    return range;
}

static inline bool open_ranges_inside(const struct open_ranges *open)
{
    return open->count && open->items[open->count - 1].wanted;
}

/* ---- Reporting ------------------------------------------------------------------------------- */

/* Reports ITEM_OPENED of the innermost range, which is wanted; of all wanted ranges not reported
 * yet. */
int open_ranges_emit_top(struct pass *pass, enum lane_kind kind, struct open_ranges *open);
int open_ranges_emit(struct pass *pass, enum lane_kind kind, struct open_ranges *open);

/* How a range ends. */
struct range_end {
    int64_t time_ns;
    uint32_t thread, flags;
    uint32_t arg_count;   /* key-values of the end, already kept by open_ranges_keep_args */
    struct off_share off; /* of its thread, until it ended */
};

/* Ends the innermost range, and reports it if it is wanted and selected. */
int open_ranges_close(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                      const struct range_end *end);

#endif
