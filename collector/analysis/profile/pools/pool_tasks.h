/* SPDX-License-Identifier: MIT */
/* The tasks of Python's pools and executors: how long each was on which part of its way.
 *
 * What a parent and a worker tell of one task is joined by the flow that both emit points of
 * (pyannot/observe/pools.py). The parts of a task follow each other without a gap, so that they add
 * up to the time from its submission to the moment when the parent has its result. A worker that is
 * terminated as soon as its last result is read may not get as far as telling that it was sent:
 * then the parent's receipt tells it.
 *
 * Memory: 150 bytes for each task that is on its way at once, up to POOL_TASKS_MAX.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_POOL_TASKS_H
#define ANNOT_POOL_TASKS_H

#include "pass.h"
#include "pool_functions.h"
#include "pools.h"
#include "trace.h"

enum { POOL_TASKS_MAX = 1 << 20 };

/* Instants that a task goes through: it is submitted; its worker has it, calls its function, and
 * that returns; the result is sent, read by the parent, and unpickled. */
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

/* Once everything is known of it, each instant is no earlier than the one before it. */
struct pool_task {
    int64_t at_ns[TASK_INSTANTS];
    uint64_t pool;   /* id; 0: not known */
    uint32_t name;   /* of its function: string */
    uint32_t worker; /* thread */
};

/* Is told of such tasks. 0, or what ends the pass. */
struct task_watch {
    int (*told)(void *context, const struct pool_task *task); /* NULL: nobody is */
    void *context;
};

struct pool_tasks;

/* `trace` outlives the object. NULL: out of memory. destroy accepts NULL. */
struct pool_tasks *pool_tasks_create(const struct trace *trace);
void pool_tasks_destroy(struct pool_tasks *tasks);

/* Before the pass: whoever wants to know of each task. */
void pool_tasks_tell(struct pool_tasks *tasks, const struct task_watch *watch);

/* What takes the items of a pass, in any order of threads. Then, once that has read all, finish. 0
 * or -ENOMEM. */
struct sink pool_tasks_sink(struct pool_tasks *tasks);
int pool_tasks_finish(struct pool_tasks *tasks);

/* After that: the functions, that with the longest time first. Owned by the object. */
uint32_t pool_tasks_functions(const struct pool_tasks *tasks,
                              const struct pool_function **ret_functions);

/* Its pools and their workers. */
const struct pools *pool_tasks_pools(const struct pool_tasks *tasks);

/* Tasks that were submitted and of which no worker told anything. */
uint64_t pool_tasks_unseen(const struct pool_tasks *tasks);

/* Tasks that found no room: counted nowhere else. */
uint64_t pool_tasks_refused(const struct pool_tasks *tasks);

#endif
