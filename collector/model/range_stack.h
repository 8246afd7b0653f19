/* SPDX-License-Identifier: MIT */
/* The open ranges of one thread or track, innermost last, with their key-values: part of slices.c
 * and track_slices.c. Inline, because every event of a recording goes through here.
 *
 * Key-values lie in one array, in the order of their ranges. Thread-safety: none. `{0}` is empty.
 */
#ifndef ANNOT_MODEL_RANGE_STACK_H
#define ANNOT_MODEL_RANGE_STACK_H

#include "slices.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct open_range {
    struct event begin;
    uint64_t level; /* number of open ranges below it, as the producer counts */
    int64_t child_ns;
    size_t first_value;
};

struct range_stack {
    struct open_range *open;
    const struct event **begins; /* of `open`, as the sink wants them */
    size_t count, capacity, begins_capacity;
    VEC(struct slice_value) values;
};

static inline int64_t time_latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Foreign times may add up to anything. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Out of line: rare. 0 or -ENOMEM. */
int range_stack_grow(struct range_stack *stack);
int range_stack_keep_values(struct range_stack *stack, const struct slice_values *values);
void range_stack_free(struct range_stack *stack);

/* When ranges end that nobody ended: with their process if that is known, else with the recording,
 * which lasts until `last_ns` at least. */
int64_t range_end_ns(const struct trace *trace, uint32_t process, int64_t last_ns);

/* The new range, or NULL: out of memory. */
static inline struct open_range *range_stack_push(struct range_stack *stack,
                                                  const struct event *event,
                                                  const struct slice_values *values)
{
    if (stack->count >= stack->begins_capacity && range_stack_grow(stack) != 0)
        return NULL;
    size_t first_value = stack->values.count;
    if (values->count && range_stack_keep_values(stack, values) != 0)
        return NULL;
    struct open_range *open = &stack->open[stack->count++];
    *open = (struct open_range){.begin = *event, .first_value = first_value};
    return open;
}

/* Takes the innermost range; what the slice points to is valid until the next push. */
static inline struct slice range_stack_pop(struct range_stack *stack, int64_t end_ns,
                                           uint32_t flags)
{
    struct open_range *open = &stack->open[--stack->count];
    struct slice slice = {
        .begin = &open->begin,
        .end_ns = time_latest(end_ns, open->begin.time_ns),
        .flags = flags,
        .end_thread = open->begin.thread,
        .parents = stack->begins,
        .depth = (uint32_t)stack->count,
        .child_ns = open->child_ns,
    };
    if (stack->values.count > open->first_value) {
        slice.values.items = stack->values.items + open->first_value;
        slice.values.count = (uint32_t)(stack->values.count - open->first_value);
        stack->values.count = open->first_value;
    }
    if (stack->count) {
        struct open_range *parent = &stack->open[stack->count - 1];
        parent->child_ns = time_add(parent->child_ns, slice.end_ns - open->begin.time_ns);
    }
    return slice;
}

#endif
