/* SPDX-License-Identifier: MIT */
/* The tasks of Python's pools and executors: the time each took for each step.
 *
 * The records of a parent and a worker about one task are joined by the flow that both emit points
 * of (pyannot/observe/pools.py). The parts of a task follow each other without a gap, so that their
 * sum is the time from its submission to the moment when the parent has its result. A worker that
 * is terminated as soon as its last result is read may not record the end of sending; the parent's
 * receipt stands in for it.
 *
 * Memory: 150 bytes for each unfinished task, up to POOL_TASKS_MAX; 16 for each path of ranges that
 * a thread was sampled in. Thread-safety: one thread per object. */
#ifndef ANNOT_POOL_TASKS_H
#define ANNOT_POOL_TASKS_H

#include "pass.h"
#include "pools.h"
#include "trace.h"

#include <stdbool.h>

/* The functions that tasks of pools run: the time of each step of the tasks.
 *
 * Memory: 50 KiB for a function with long tasks. */

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

enum { POOL_TASKS_MAX = 1 << 20 };

/* Instants of a task: submitted; received by the worker, function begun, function ended; result
 * sent, read by the parent, and unpickled. */
enum pool_instant {
    TASK_SUBMITTED,
    TASK_RECEIVED,
    TASK_BEGUN,
    TASK_ENDED,
    TASK_SENT,
    TASK_READ,
    TASK_FETCHED,
    TASK_INSTANTS,
};

/* In complete tasks each instant is not earlier than its predecessor. */
struct pool_task {
    int64_t at_ns[TASK_INSTANTS];
    uint64_t pool;   /* id; 0: unknown */
    uint32_t name;   /* of its function: string */
    uint32_t worker; /* thread */
};

/* Called for each complete task. Returns 0, or a value that ends the pass. */
struct task_watch {
    int (*completed)(void *context, const struct pool_task *task); /* NULL: unused */
    void *context;
};

struct pool_tasks;

/* `trace` outlives the object. NULL: out of memory. destroy accepts NULL. */
struct pool_tasks *pool_tasks_create(const struct trace *trace);
void pool_tasks_destroy(struct pool_tasks *tasks);

/* Sets the watch, before the pass. */
void pool_tasks_report(struct pool_tasks *tasks, const struct task_watch *watch);

/* The sink takes the items of a pass, in any order of threads; call finish once after the last. 0
 * or -ENOMEM. */
struct sink pool_tasks_sink(struct pool_tasks *tasks);
int pool_tasks_finish(struct pool_tasks *tasks);

/* After finish: the functions, the longest time first. Owned by the object. */
uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions);

/* The pools and their workers. */
const struct pools *pool_tasks_pools(const struct pool_tasks *tasks);

/* Submitted tasks without records of a worker. */
uint64_t pool_tasks_unseen(const struct pool_tasks *tasks);

/* Tasks beyond the limit, not counted elsewhere. */
uint64_t pool_tasks_refused(const struct pool_tasks *tasks);

#endif
