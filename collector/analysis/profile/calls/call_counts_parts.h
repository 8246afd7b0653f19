/* SPDX-License-Identifier: MIT */
/* The object of counted calls. Shared by call_counts*.c only. */
#ifndef ANNOT_CALL_COUNTS_PARTS_H
#define ANNOT_CALL_COUNTS_PARTS_H

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
    struct map64 off_by_key; /* group, label: nanoseconds off the CPU */
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

#endif
