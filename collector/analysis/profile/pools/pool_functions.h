/* SPDX-License-Identifier: MIT */
/* The functions that tasks of pools run: the time of each step of the tasks.
 *
 * Memory: 50 KiB for a function with long tasks. Thread-safety: one thread per object. */
#ifndef ANNOT_POOL_FUNCTIONS_H
#define ANNOT_POOL_FUNCTIONS_H

#include "trace.h"

#include <stdbool.h>

enum pool_part {
    /* From the submission until the worker has all of the task's bytes: */
    POOL_HAND_OVER = 0, /* the parent pickled and wrote it */
    POOL_START,         /* else: the worker was starting, with its initializer */
    POOL_QUEUED,        /* the rest: the task waited for others */
    /* After that, in sequence: */
    POOL_UNPICKLE, /* until the function was called */
    POOL_RUN,      /* until it returned */
    POOL_SEND,     /* the result is pickled and written */
    POOL_WAITING,  /* the result is in the pipe, until the parent has read it */
    POOL_FETCH,    /* the parent unpickles it */
    POOL_WHOLE,    /* sum of all parts */
    POOL_PART_COUNT,
};

/* "hand over", "worker start", "queued", ...; "" for the whole. */
const char *pool_part_name(enum pool_part part);

struct pool_part_times {
    uint64_t sum_ns, p50_ns, p90_ns, max_ns;
};

struct pool_function {
    uint32_t name;             /* string */
    bool is_local;             /* run by threads: only POOL_QUEUED and POOL_RUN apply */
    uint64_t count;            /* complete tasks, or chunks */
    uint64_t item_count;       /* calls of the function in these */
    uint64_t unfinished_count; /* begun, but incomplete */
    uint64_t received_count;   /* part of `count`: the worker ended during "send", after the result
                                  had arrived */
    uint64_t bytes_in, bytes_out;
    struct pool_part_times parts[POOL_PART_COUNT];
    uint64_t cpu_ns[POOL_PART_COUNT];
    uint32_t cpu_known; /* bit of each part */
};

/* A task from its submission to its result: the sum of the parts is the whole. */
struct pool_way {
    uint32_t name; /* of the function: string */
    bool is_local, was_received;
    uint64_t item_count, bytes_in, bytes_out;
    uint64_t parts_ns[POOL_WHOLE];
};

struct pool_functions;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct pool_functions *pool_functions_create(const struct trace *trace);
void pool_functions_destroy(struct pool_functions *functions);

/* Add complete and incomplete tasks; call finish once after the last. 0 or -ENOMEM. */
int pool_functions_add(struct pool_functions *functions, const struct pool_way *way);
int pool_functions_add_unfinished(struct pool_functions *functions, uint32_t name, bool is_local);
/* Before finish, with samples: adds CPU time of a part. `name` 0: function unknown; the time is
 * assigned if the processes run a single function. */
void pool_functions_add_cpu(struct pool_functions *functions, enum pool_part part, uint32_t name,
                            bool is_local, uint64_t cpu_ns);
int pool_functions_finish(struct pool_functions *functions);

/* After finish: the longest time first. Owned by the object. */
uint32_t pool_functions_all(const struct pool_functions *functions,
                            const struct pool_function **ret_functions);

#endif
