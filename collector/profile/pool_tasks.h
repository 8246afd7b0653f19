/* SPDX-License-Identifier: MIT */
/* The tasks of Python's pools and executors: how long each was on which part of its way.
 *
 * What a parent and a worker tell of one task is joined by the flow that both emit points of
 * (pyannot/observe/pools.py). The parts of a task follow each other without a gap, so that they add
 * up to the time from its submission to the moment when the parent has its result. A worker that is
 * terminated as soon as its last result is read may not get as far as telling that it was sent:
 * then the parent's receipt tells it.
 *
 * Memory: 150 bytes for each task that is on its way at once, up to POOL_TASKS_MAX, and 50 KiB for
 * a function with long tasks. Thread-safety: one thread per object. */
#ifndef ANNOT_POOL_TASKS_H
#define ANNOT_POOL_TASKS_H

#include "pass.h"
#include "trace.h"

enum { POOL_TASKS_MAX = 1 << 20 };

enum pool_part {
    POOL_QUEUED = 0, /* submitted, until the worker had all of its bytes */
    POOL_UNPICKLE,   /* until the function was called */
    POOL_RUN,        /* until it returned */
    POOL_SEND,       /* the result is pickled and written */
    POOL_WAITING,    /* it lies in the pipe, until the parent has read it */
    POOL_FETCH,      /* the parent unpickles it */
    POOL_WHOLE,      /* all of them */
    POOL_PART_COUNT,
};

/* "queued", "unpickle", ...; "" for the whole. */
const char *pool_part_name(enum pool_part part);

struct pool_part_times {
    uint64_t sum_ns, p50_ns, p90_ns, max_ns;
};

struct pool_function {
    uint32_t name;             /* string */
    bool is_local;             /* run by threads: queued and run are all there is */
    uint64_t count;            /* tasks, or chunks, that are known from end to end */
    uint64_t item_count;       /* calls of the function in these */
    uint64_t unfinished_count; /* begun, but something of the rest is missing */
    uint64_t received_count;   /* of `count`: the worker ended in "send", the result had arrived */
    uint64_t bytes_in, bytes_out;
    struct pool_part_times parts[POOL_PART_COUNT];
};

struct pool_tasks;

/* `trace` outlives the object. NULL: out of memory. destroy accepts NULL. */
struct pool_tasks *pool_tasks_create(const struct trace *trace);
void pool_tasks_destroy(struct pool_tasks *tasks);

/* What takes the items of a pass, in any order of threads. Then, once that has read all, finish. 0
 * or -ENOMEM. */
struct sink pool_tasks_sink(struct pool_tasks *tasks);
int pool_tasks_finish(struct pool_tasks *tasks);

/* After that: the functions, that with the longest time first. Owned by the object. */
uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions);

/* Tasks that were submitted and of which no worker told anything. */
uint64_t pool_tasks_unseen(const struct pool_tasks *tasks);

/* Tasks that found no room: counted nowhere else. */
uint64_t pool_tasks_refused(const struct pool_tasks *tasks);

#endif
