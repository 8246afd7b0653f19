/* SPDX-License-Identifier: MIT */
/* Pools and their workers: what each pool is, and how the time of its workers was spent.
 *
 * A pool is in use from its first call until the last result is there. A worker's time is what of
 * that it was there for, from where it was ready for tasks on: busy with tasks (from unpickling to
 * sending), or idle before its first task, between tasks, or after its last one. The four add up.
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
    uint32_t pool;       /* index; POOL_NONE: not known */
    uint64_t pool_id;    /* 0: not known */
    int64_t ready_ns;    /* for tasks; 0: not known */
    int64_t first_ns;    /* when it began with its first task, and was through with its last one */
    int64_t last_ns;     /* (its result was sent) */
    int64_t ended_ns;    /* its last function returned */
    uint64_t task_count; /* 0: it got none */
    uint64_t item_count; /* calls in them */
    uint64_t run_ns;     /* in functions */
    uint64_t longest_ns; /* one of them */
    uint32_t longest_name;
    /* What there was of it in the use of its pool: busy, and idle before, between and after. */
    uint64_t use_ns, busy_ns, before_ns, between_ns, after_ns;
    uint64_t start_ns; /* before that: the pool was in use, and it was not ready */
    uint64_t cpu_ns;   /* in tasks */
    bool is_local;     /* a thread of the process that has the pool */
};

struct pool {
    uint64_t id;
    uint32_t process;                   /* ordinal; UINT32_MAX: not known */
    uint32_t name, kind, started;       /* strings; 0: not known */
    uint64_t size;                      /* workers at once; 0: not known */
    uint32_t methods[POOL_METHODS_MAX]; /* strings: "map" */
    uint32_t method_count;
    uint64_t call_count;           /* of methods */
    uint64_t chunk_min, chunk_max; /* items of a task; 0: none is told */
    int64_t begin_ns, end_ns;      /* in use; 0: never */
    /* Of its workers together. */
    uint32_t worker_count, idle_count; /* idle: without a task */
    uint64_t task_count, item_count, run_ns;
    uint64_t use_ns, busy_ns, before_ns, between_ns, after_ns, cpu_ns;
};

struct pools;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct pools *pools_create(const struct trace *trace);
void pools_destroy(struct pools *pools);

/* What observers tell: a mark of POOL_ROLE_MADE; a call, of a string or of submit for 0, with the
 * items of each of its tasks; a time at which a pool was in use. 0 or -ENOMEM. */
int pools_take_made(struct pools *pools, const struct event *mark, const struct args *values);
int pools_take_call(struct pools *pools, uint64_t id, uint32_t method, uint64_t chunk);
int pools_take_use(struct pools *pools, uint64_t id, int64_t begin_ns, int64_t end_ns);

/* Once, with all workers: the numbers of both. 0 or -ENOMEM. */
int pools_take_worker(struct pools *pools, const struct pool_worker *worker);
int pools_finish(struct pools *pools);

/* After that: the pools, that which was used first first; the workers, pool by pool as these are,
 * by thread. Owned by the object. */
uint32_t pools_all(const struct pools *pools, const struct pool **ret_pools);
uint32_t pools_workers(const struct pools *pools, const struct pool_worker **ret_workers);

/* A number of the key-values of an event, or a string's; 0: there is none. */
uint64_t pools_number(const struct trace *trace, const struct args *values, const char *key);
uint32_t pools_string(const struct trace *trace, const struct args *values, const char *key);

/* When the process of a thread was forked, or else started; 0: not known. */
int64_t pools_start(const struct trace *trace, uint32_t thread);

#endif
