/* SPDX-License-Identifier: MIT */
/* The object of counted calls, and its parts: functions, paths and rows made of them
 * (call_sums_rows.c), and calls known from samples (call_sums_samples.c). For call_counts.c and
 * these only. Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_SUMS_H
#define ANNOT_CALL_SUMS_H

#include "call_counts.h"
#include "hash_map.h"
#include "vec.h"

/* A function called on one path from a root. Path 0: outside of all calls. */
struct call_path {
    uint32_t parent, function; /* function: 1 + index */
    uint64_t calls, own_ns, off_ns;
    uint64_t unplaced_ns; /* of callees without a separate path */
};

/* An open span, as derived from the ends of spans inside of it. Spans with the same start and name
 * at one depth are the same. */
struct call_open {
    int64_t begin_ns;
    uint32_t name, path; /* path: of the span, or of the innermost call around it */
    uint32_t function;
    bool is_call;
    uint64_t inner_ns, inner_off_ns; /* of calls directly inside of it */
};

/* A lane with spans of calls. */
struct call_lane {
    VEC(struct call_open) open; /* by depth */
    uint32_t group;
};

/* CPU time at a stack with an innermost Python function that was not being counted. */
struct call_sampled {
    uint32_t group, process, stack;
    uint64_t time_ns;
};

/* Times of samples and stretches. */
struct call_times {
    uint64_t cpu_ns, samples, runnable_ns, blocked_ns;
};

/* Those at a stack. */
struct call_seen {
    uint32_t group, stack;
    struct call_times times;
};

/* Time at which a process stopped counting a function, or resumed. */
struct call_stop {
    uint32_t process, label;
    int64_t since_ns;
    bool stopped;
};

struct calls {
    const struct trace *trace;
    struct calls_options options;
    VEC(struct call_path) paths;
    VEC(struct call_function) functions;
    VEC(struct call_edge) edges;
    VEC(struct call_made) made;
    VEC(struct call_coroutine) coroutines;
    struct map64 coroutine_by_name;
    uint32_t range_count; /* of ranges that are places */
    struct map64 path_by_key, lane_by_key, function_by_name;
    struct wide_map function_by_key;
    VEC(struct call_lane) lanes;
    uint64_t last_key; /* of the lane looked up last; 0: unset */
    uint32_t last_lane;
    uint32_t *path_of_stack; /* by stack: 1 + path, of one group */
    uint32_t stack_count, stack_group;
    VEC(struct call_seen) seen;
    struct wide_map seen_by_key;
    VEC(struct call_stop) stops;
    struct map64 stop_by_key; /* process, label: index of the latest */
    VEC(struct call_sampled) sampled;
    struct wide_map sampled_by_key;
    struct histogram_pool *first; /* of functions */
    VEC(uint8_t) named;           /* by string: 1 matches the range, 2 does not; 0: unknown yet */
    struct path_matches matches;  /* of the range */
    struct call_totals totals;
};

/* The key of two numbers; never 0. */
static inline uint64_t calls_key(uint32_t first, uint32_t second)
{
    return ((uint64_t)first << 32 | second) + 1;
}

/* ---- Functions and paths --------------------------------------------------------------------- */

/* Returns the group in which items of a thread count. */
uint32_t calls_group_of(const struct calls *calls, uint32_t thread);

/* Returns 1 + the index of a function of a group, or adds it. -ENOMEM. */
int64_t calls_function_of(struct calls *calls, uint32_t group, uint32_t label, uint32_t name);

/* Returns the path of a function below another path; 0: limit reached. -ENOMEM. */
int64_t calls_path_of(struct calls *calls, uint32_t parent, uint32_t function);

/* calls_add adds calls at a path; with path 0, to the function alone. */
struct call_count {
    uint32_t parent, path, function;
    uint64_t calls, own_ns, off_ns;
};

void calls_add(struct calls *calls, const struct call_count *count);

/* ---- Samples --------------------------------------------------------------------------------- */

/* Calls counted in the program, and marks of functions that it stopped counting. 0 or -ENOMEM. */
int calls_take_sample(struct calls *calls, const struct sample *sample);
int calls_take_mark(struct calls *calls, const struct item *item);
/* After calls_add_up: estimates the calls of those functions from samples. 0 or -ENOMEM. */
int calls_estimate(struct calls *calls);

/* Returns the next Python function of a stack from `*stack` outwards, and sets *stack to its
 * caller. 0: not found. */
uint32_t calls_next_python(const struct stacks *stacks, uint32_t *stack);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Makes functions, edges and places of the paths; calls_sort orders them. 0 or -ENOMEM. */
int calls_add_up(struct calls *calls);
int calls_sort(struct calls *calls);
/* Takes 1 + caller, 1 + callee; returns the edge's index, or adds it. -ENOMEM. */
int64_t calls_edge_of(struct calls *calls, struct map64 *edges, uint32_t caller, uint32_t callee);

#endif
