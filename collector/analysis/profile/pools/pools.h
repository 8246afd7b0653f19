/* SPDX-License-Identifier: MIT */
/* Pools and their workers: the properties of each pool, and the time of its workers.
 *
 * A pool is in use from its first call until its last result is there. A worker's time is the part
 * of that from when it was ready for tasks until its end: busy with tasks (from unpickling to
 * sending), or idle before its first task, between tasks, or after its last one. The sum of the
 * four is the worker's time.
 *
 * Memory: 200 bytes a pool, 140 a worker. Thread-safety: one thread per object. */
#ifndef ANNOT_POOLS_H
#define ANNOT_POOLS_H

#include "event.h"
#include "trace.h"

#include <stdbool.h>

enum { POOL_METHODS_MAX = 6, POOL_NONE = UINT32_MAX };

/* A process or thread that runs tasks. */
struct pool_worker {
    uint32_t thread;     /* ordinal */
    uint32_t pool;       /* index; POOL_NONE: unknown */
    uint64_t pool_id;    /* 0: unknown */
    int64_t ready_ns;    /* ready for tasks; 0: unknown */
    int64_t first_ns;    /* start of the first task */
    int64_t last_ns;     /* end of the last task (its result was sent) */
    int64_t ended_ns;    /* return of its last function */
    uint64_t task_count; /* 0: it got no task */
    uint64_t item_count; /* calls in them */
    uint64_t run_ns;     /* in functions */
    uint64_t longest_ns; /* the longest run of a function */
    uint32_t longest_name;
    /* Parts of its time in the use of its pool: busy, and idle before, between and after tasks. */
    uint64_t use_ns, busy_ns, before_ns, between_ns, after_ns;
    uint64_t start_ns; /* earlier part of the pool's use, before it was ready */
    uint64_t cpu_ns;   /* in tasks */
    bool is_local;     /* a thread of the process that owns the pool */
};

struct pool {
    uint64_t id;
    uint32_t process;                   /* ordinal; UINT32_MAX: unknown */
    uint32_t name, kind, started;       /* strings; 0: unknown */
    uint64_t size;                      /* workers at once; 0: unknown */
    uint32_t methods[POOL_METHODS_MAX]; /* strings: "map" */
    uint32_t method_count;
    uint64_t call_count;           /* of methods */
    uint64_t chunk_min, chunk_max; /* items of a task; 0: unknown */
    int64_t begin_ns, end_ns;      /* in use; 0: never */
    /* Sums over its workers. */
    uint32_t worker_count, idle_count; /* idle: without a task */
    uint64_t task_count, item_count, run_ns;
    uint64_t use_ns, busy_ns, before_ns, between_ns, after_ns, cpu_ns;
};

struct pools;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct pools *pools_create(const struct trace *trace);
void pools_destroy(struct pools *pools);

/* Take the records of observers: a mark of POOL_ROLE_MADE; a call of `method` (string; 0: submit),
 * with the items of each of its tasks; a time at which a pool was in use. 0 or -ENOMEM. */
int pools_take_made(struct pools *pools, const struct event *mark, const struct args *values);
int pools_take_call(struct pools *pools, uint64_t id, uint32_t method, uint64_t chunk);
int pools_take_use(struct pools *pools, uint64_t id, int64_t begin_ns, int64_t end_ns);

/* Adds a worker; finish, once after all, computes the numbers of workers and pools. 0 or
 * -ENOMEM. */
int pools_take_worker(struct pools *pools, const struct pool_worker *worker);
int pools_finish(struct pools *pools);

/* After finish: the pools, by first use; the workers, grouped by pool in the same order, by thread.
 * Owned by the object. */
uint32_t pools_all(const struct pools *pools, const struct pool **ret_pools);
uint32_t pools_workers(const struct pools *pools, const struct pool_worker **ret_workers);

/* The number or string of a key among an event's key-values; 0: missing. */
uint64_t pools_number(const struct trace *trace, const struct args *values, const char *key);
uint32_t pools_string(const struct trace *trace, const struct args *values, const char *key);

/* Time of the fork, or else the start, of a thread's process; 0: unknown. */
int64_t pools_start(const struct trace *trace, uint32_t thread);

#endif
