/* SPDX-License-Identifier: MIT */
/* Calls that were counted: functions, how often each was called, by whom, and how long it took.
 *
 * Every call may be a span (OBSERVER_PYTHON_CALLS, OBSERVER_NATIVE_CALLS), or calls were counted in
 * the program and come as sums at stacks (SAMPLE_ROLE_CALLS). Both become one tree of call paths,
 * and functions and their callers are made of it. Functions that the program stopped counting, as
 * a mark of the observer says, are estimated from samples: of those whose innermost Python function
 * it is, the CPU time goes from whoever called it to itself, so that own times still add up.
 *
 * A path may lead through what is no function: a step of a task, a range of the program. Calls are
 * told by what they were made in, too; the time of such a place is its caller's. Coroutines that
 * tasks run have, beside their pieces, whole calls on tracks.
 *
 * Memory: 48 bytes a call path, up to a limit; 40 bytes for each open call. What has no path any
 * more counts for its function, not for its callers. Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_COUNTS_H
#define ANNOT_CALL_COUNTS_H

#include "histogram.h"
#include "pass.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* How numbers are known. */
enum calls_source {
    CALLS_EXACT = 1u << 0,      /* each call was recorded */
    CALLS_AGGREGATED = 1u << 1, /* each call was counted */
    CALLS_ESTIMATED = 1u << 2,  /* some were neither: estimated, or missing without samples */
};

enum calls_group { CALLS_TOGETHER = 0, CALLS_BY_PROCESS, CALLS_BY_THREAD };

struct calls_options {
    enum calls_group group; /* functions of different ones are different */
    uint32_t path_limit;    /* 0: 1,000,000 */
    bool off_cpu;           /* stretches off the CPU are known */
    bool only_spans;        /* samples are not asked for: there are none that matter */
    const char *range;      /* only calls inside of ranges of this name; NULL: all */
};

struct call_numbers {
    uint64_t calls, primitive; /* primitive: not inside of another one of the same */
    uint64_t own_ns;           /* without what it called, as far as that was counted */
    uint64_t total_ns;         /* of the outermost ones */
};

struct call_function {
    uint32_t label;  /* 0: it has none; then: */
    uint32_t name;   /* string */
    uint32_t group;  /* ordinal of the process or thread */
    uint8_t sources; /* enum calls_source */
    uint8_t context; /* enum label_flags of what is none; 0: a function */
    bool off_known;
    bool resumed;            /* a generator or coroutine: no single call is known */
    struct call_numbers sum; /* with estimates */
    uint64_t min_ns, max_ns; /* of single calls, with what they called; max 0: unknown */
    uint64_t off_ns;         /* of own_ns: off the CPU */
    uint64_t estimated_calls, estimated_ns; /* of sum.calls, of sum.own_ns */
    uint64_t given_ns;                      /* was its own before others were estimated */
    struct histogram first; /* own times of its first calls, with what recording them took */
};

/* Who called whom. Of calls that nobody is known to have made, none. */
struct call_edge {
    uint32_t caller, callee; /* indices of functions */
    struct call_numbers sum; /* own_ns, total_ns: of the callee, when called so */
    uint64_t estimated_calls;
};

/* Calls that were made while a task ran, or a range was the innermost one. */
struct call_made {
    uint32_t task;           /* label; 0: in none */
    uint32_t range;          /* string; 0: in none */
    uint32_t function;       /* index */
    struct call_numbers sum; /* total_ns: of those that are not inside of one in the same place */
};

/* Whole calls of a coroutine. */
struct call_coroutine {
    uint32_t name; /* string, which has a label */
    uint64_t calls;
    uint64_t whole_ns;    /* from begin to end, of the outermost ones */
    uint64_t awaiting_ns; /* of that: the task was suspended */
    uint64_t max_ns;
};

struct call_totals {
    uint64_t calls, own_ns;
    uint64_t estimated_calls, estimated_ns;
    uint64_t span_count;   /* calls that are spans: two events each */
    uint64_t recording_ns; /* of the own time of such a call, about: what recording it took; 0: not
                            * known, as no function is short */
    uint32_t path_count;
    uint64_t no_path_calls; /* without callers, for want of room */
    uint64_t
        outside_sums; /* calls that were counted, and not inside of the range as far as known */
    uint64_t stopped_count; /* functions that the program stopped counting */
    uint8_t sources;        /* of all */
};

struct calls;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct calls *calls_create(const struct trace *trace, const struct calls_options *options);
void calls_destroy(struct calls *calls);

/* May there be calls in a recording, as far as its definitions tell? */
bool calls_any(const struct trace *trace);

/* Is it an event of those that calls are made of? */
bool calls_takes(const struct trace *trace, const struct event *event);

/* What takes the items of a pass; then once finish. 0 or -ENOMEM. */
struct sink calls_sink(struct calls *calls);
int calls_finish(struct calls *calls);

/* After finish, owned by the object. Functions: the most own time first. Edges: by caller, the most
 * time first. */
const struct call_totals *calls_totals(const struct calls *calls);
uint32_t calls_functions(const struct calls *calls, const struct call_function **ret_functions);
uint32_t calls_edges(const struct calls *calls, const struct call_edge **ret_edges);

/* By task, range, then the most own time first; none unless there are tasks or ranges. */
uint32_t calls_made(const struct calls *calls, const struct call_made **ret_made);
/* The longest first. */
uint32_t calls_coroutines(const struct calls *calls, const struct call_coroutine **ret_coroutines);

/* What it is called: "Parser.parse". */
const char *calls_name(const struct trace *trace, const struct call_function *function);

#endif
