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
#include "pool_functions.h"
#include "pools.h"
#include "trace.h"

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
