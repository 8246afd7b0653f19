/* SPDX-License-Identifier: MIT */
/* Counted calls: functions, the number of their calls, the callers, and the times.
 *
 * Every call may be a span (OBSERVER_PYTHON_CALLS, OBSERVER_NATIVE_CALLS), or calls were counted in
 * the program and are read as sums at stacks (SAMPLE_ROLE_CALLS). Both are added to one tree of
 * call paths, from which functions and edges are made. Functions that the program stopped counting,
 * according to a mark of the observer, are estimated from samples: CPU time with such a function as
 * the innermost Python function moves from its caller to itself, so that the sum of own times stays
 * the same.
 *
 * A path may contain nodes that are not functions: a step of a task, a range of the program. Calls
 * are also reported by these places; the time of such a place is its caller's. Coroutines that
 * tasks run have, beside their pieces, whole calls on tracks.
 *
 * Memory: 48 bytes a call path, up to a limit; 40 bytes for each open call. Calls beyond the path
 * limit count for their function, but not for its callers. Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_COUNTS_H
#define ANNOT_CALL_COUNTS_H

#include "histogram.h"
#include "pass.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Source of the numbers. */
enum calls_source {
    CALLS_EXACT = 1u << 0,      /* each call was recorded */
    CALLS_AGGREGATED = 1u << 1, /* each call was counted */
    CALLS_ESTIMATED = 1u << 2,  /* some calls were neither: estimated, or missing without samples */
};

enum calls_group { CALLS_TOGETHER = 0, CALLS_BY_PROCESS, CALLS_BY_THREAD };

struct calls_options {
    enum calls_group group; /* each group has separate functions */
    uint32_t path_limit;    /* 0: 1,000,000 */
    bool off_cpu;           /* stretches off the CPU were recorded */
    bool only_spans;        /* does not read samples, as they do not matter */
    const char *range;      /* only calls inside of ranges of this name; NULL: all */
};

struct call_numbers {
    uint64_t calls, primitive; /* primitive: not inside of another call of the same function */
    uint64_t own_ns;           /* without callees, as far as these were counted */
    uint64_t total_ns;         /* of the outermost calls */
};

struct call_function {
    uint32_t label;                         /* 0: no label; then: */
    uint32_t name;                          /* string */
    uint32_t group;                         /* ordinal of the process or thread */
    uint8_t sources;                        /* enum calls_source */
    uint8_t context;                        /* enum label_flags of a place; 0: a function */
    bool off_known, off_moved;              /* moved: off_ns is an estimate */
    bool resumed;                           /* a generator or coroutine: single calls are unknown */
    struct call_numbers sum;                /* with estimates */
    uint64_t min_ns, max_ns;                /* of single calls, with callees; max 0: unknown */
    uint64_t off_ns;                        /* of own_ns: off the CPU */
    uint64_t estimated_calls, estimated_ns; /* part of sum.calls; part of sum.own_ns */
    uint64_t given_ns;                      /* own time that moved to estimated callees */
    struct histogram first; /* own times of its first calls, including the cost of recording */
};

/* A caller and a callee. Calls without a known caller have no edge. */
struct call_edge {
    uint32_t caller, callee; /* indices of functions */
    struct call_numbers sum; /* own_ns, total_ns: of the callee, when called by this caller */
    uint64_t estimated_calls;
};

/* Calls made while a task ran, or while a range was the innermost. */
struct call_made {
    uint32_t task;           /* label; 0: outside of tasks */
    uint32_t range;          /* string; 0: outside of ranges */
    uint32_t function;       /* index */
    struct call_numbers sum; /* total_ns: of calls not inside of another one in the same place */
};

/* Whole calls of a coroutine. */
struct call_coroutine {
    uint32_t name; /* string, with a label */
    uint64_t calls;
    uint64_t whole_ns;    /* from start to end, of the outermost calls */
    uint64_t awaiting_ns; /* part of whole_ns in which the task was suspended */
    uint64_t max_ns;
};

struct call_totals {
    uint64_t calls, own_ns;
    uint64_t estimated_calls, estimated_ns;
    uint64_t span_count;   /* calls recorded as spans: two events each */
    uint64_t recording_ns; /* approximate cost of recording within the own time of such a call; 0:
                              unknown, as no function is short */
    uint32_t path_count;
    uint64_t no_path_calls; /* without callers, beyond the path limit */
    uint64_t outside_sums;  /* counted calls not known to be inside of the range */
    uint64_t stopped_count; /* functions that the program stopped counting */
    uint8_t sources;        /* union over all functions */
};

struct calls;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct calls *calls_create(const struct trace *trace, const struct calls_options *options);
void calls_destroy(struct calls *calls);

/* Returns true if the recording may have calls, according to its definitions. */
bool calls_any(const struct trace *trace);

/* Returns true for events of calls. */
bool calls_takes(const struct trace *trace, const struct event *event);

/* The sink takes the items of a pass; call finish once after the last. 0 or -ENOMEM. */
struct sink calls_sink(struct calls *calls);
int calls_finish(struct calls *calls);

/* After finish, owned by the object. Functions: the most own time first. Edges: by caller, the most
 * time first. */
const struct call_totals *calls_totals(const struct calls *calls);
uint32_t calls_functions(const struct calls *calls, const struct call_function **ret_functions);
uint32_t calls_edges(const struct calls *calls, const struct call_edge **ret_edges);

/* By task, range, then the most own time first; empty without tasks and ranges. */
uint32_t calls_made(const struct calls *calls, const struct call_made **ret_made);
/* The longest first. */
uint32_t calls_coroutines(const struct calls *calls, const struct call_coroutine **ret_coroutines);

/* Returns the function's name: "Parser.parse". */
const char *calls_name(const struct trace *trace, const struct call_function *function);

#endif
