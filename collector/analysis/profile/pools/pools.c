/* SPDX-License-Identifier: MIT */
/* See pools.h. */
#include "pools.h"

#include "hash_map.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pools {
    const struct trace *trace;
    struct map64 index_of_id; /* id -> index + 1 */
    VEC(struct pool) items;
    VEC(struct pool_worker) workers;
};

struct pools *pools_create(const struct trace *trace)
{
    struct pools *pools = calloc(1, sizeof(*pools));
    if (pools)
        pools->trace = trace;
    return pools;
}

void pools_destroy(struct pools *pools)
{
    if (!pools)
        return;
    map64_free(&pools->index_of_id);
    vec_free(&pools->items);
    vec_free(&pools->workers);
    free(pools);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const struct arg *find_value(const struct trace *trace, const struct args *values,
                                    const char *key)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (strcmp(trace_string(trace, values->items[i].key)->bytes, key) == 0)
            return &values->items[i];
    return NULL;
}

uint64_t pools_number(const struct trace *trace, const struct args *values, const char *key)
{
    const struct arg *value = find_value(trace, values, key);
    bool is_number = value && (value->kind == VALUE_INT64 || value->kind == VALUE_UINT64);
    return is_number ? value->value.uint64 : 0;
}

uint32_t pools_string(const struct trace *trace, const struct args *values, const char *key)
{
    const struct arg *value = find_value(trace, values, key);
    return value && value->kind == VALUE_STRING ? value->value.string : 0;
}

int64_t pools_start(const struct trace *trace, uint32_t thread)
{
    const struct trace_process *process =
        trace_process_get(trace, trace_thread_get(trace, thread)->process);
    return process->fork_ns ? process->fork_ns : process->start_ns;
}

/* Returns the pool, or a new one. NULL: out of memory, or id 0. */
static struct pool *pool_of(struct pools *pools, uint64_t id)
{
    const uint64_t *found = id ? map64_find(&pools->index_of_id, id) : NULL;
    if (found)
        return &pools->items.items[*found - 1];
    const struct pool fresh = {.id = id, .process = UINT32_MAX};
    if (!id || vec_push(&pools->items, fresh) != 0 ||
        map64_put(&pools->index_of_id, id, pools->items.count) != 0)
        return NULL;
    return &pools->items.items[pools->items.count - 1];
}

int pools_take_made(struct pools *pools, const struct event *mark, const struct args *values)
{
    const struct trace *trace = pools->trace;
    uint64_t id = pools_number(trace, values, POOL_KEY_POOL);
    struct pool *pool = pool_of(pools, id);
    if (!pool)
        return id ? -ENOMEM : 0;
    pool->process = trace_thread_get(trace, mark->thread)->process;
    pool->name = pools_string(trace, values, POOL_KEY_NAME);
    pool->kind = pools_string(trace, values, POOL_KEY_KIND);
    pool->started = pools_string(trace, values, POOL_KEY_STARTED);
    pool->size = pools_number(trace, values, POOL_KEY_SIZE);
    return 0;
}

static void add_method(struct pool *pool, uint32_t method)
{
    for (uint32_t i = 0; i < pool->method_count; i++)
        if (pool->methods[i] == method)
            return;
    if (pool->method_count < POOL_METHODS_MAX)
        pool->methods[pool->method_count++] = method;
}

int pools_take_call(struct pools *pools, uint64_t id, uint32_t method, uint64_t chunk)
{
    struct pool *pool = pool_of(pools, id);
    if (!pool)
        return id ? -ENOMEM : 0;
    pool->call_count++;
    add_method(pool, method);
    if (chunk > 0 && (pool->chunk_min == 0 || chunk < pool->chunk_min))
        pool->chunk_min = chunk;
    if (chunk > pool->chunk_max)
        pool->chunk_max = chunk;
    return 0;
}

int pools_take_use(struct pools *pools, uint64_t id, int64_t begin_ns, int64_t end_ns)
{
    struct pool *pool = pool_of(pools, id);
    if (!pool)
        return id ? -ENOMEM : 0;
    if (pool->end_ns == 0 || begin_ns < pool->begin_ns)
        pool->begin_ns = begin_ns;
    if (end_ns > pool->end_ns)
        pool->end_ns = end_ns;
    return 0;
}

/* ---- Workers --------------------------------------------------------------------------------- */

int pools_take_worker(struct pools *pools, const struct pool_worker *worker)
{
    struct pool *pool = pool_of(pools, worker->pool_id);
    if (worker->pool_id && !pool)
        return -ENOMEM;
    if (pool && worker->task_count > 0 &&
        pools_take_use(pools, worker->pool_id, worker->first_ns, worker->last_ns) != 0)
        return -ENOMEM;
    return vec_push(&pools->workers, *worker);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the time after which the worker could not take tasks. The end of a thread is unknown. */
static int64_t worker_end_ns(const struct pools *pools, const struct pool_worker *worker,
                             int64_t pool_end_ns)
{
    const struct trace_thread *thread = trace_thread_get(pools->trace, worker->thread);
    int64_t end_ns = trace_process_get(pools->trace, thread->process)->end_ns;
    bool is_known = !worker->is_local && end_ns > 0 && end_ns < pool_end_ns;
    end_ns = is_known ? end_ns : pool_end_ns;
    return worker->task_count > 0 ? later(end_ns, worker->last_ns) : end_ns;
}

/* Splits the time of the pool's use in which the worker existed. */
static void share_out(const struct pools *pools, const struct pool *pool,
                      struct pool_worker *worker)
{
    int64_t ready_ns = worker->ready_ns;
    if (worker->task_count > 0 && (ready_ns == 0 || ready_ns > worker->first_ns))
        ready_ns = worker->first_ns;
    int64_t begin_ns = later(pool->begin_ns, ready_ns);
    int64_t end_ns = worker_end_ns(pools, worker, pool->end_ns);
    worker->start_ns =
        (uint64_t)((begin_ns < pool->end_ns ? begin_ns : pool->end_ns) - pool->begin_ns);
    worker->use_ns = end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0;
    if (worker->task_count == 0) {
        worker->before_ns = worker->use_ns;
        return;
    }
    uint64_t in_tasks_ns = (uint64_t)(worker->last_ns - worker->first_ns);
    worker->before_ns = (uint64_t)(worker->first_ns - begin_ns);
    worker->after_ns = (uint64_t)(end_ns - worker->last_ns);
    if (worker->busy_ns > in_tasks_ns) /* clocks of processors differ by a little */
        worker->busy_ns = in_tasks_ns;
    worker->between_ns = in_tasks_ns - worker->busy_ns;
}

static void add_worker(struct pool *pool, const struct pool_worker *worker)
{
    pool->worker_count++;
    pool->idle_count += worker->task_count == 0;
    pool->task_count += worker->task_count;
    pool->item_count += worker->item_count;
    pool->run_ns += worker->run_ns;
    pool->use_ns += worker->use_ns;
    pool->busy_ns += worker->busy_ns;
    pool->before_ns += worker->before_ns;
    pool->between_ns += worker->between_ns;
    pool->after_ns += worker->after_ns;
    pool->cpu_ns += worker->cpu_ns;
}

static int by_use(const void *left, const void *right)
{
    const struct pool *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_pool(const void *left, const void *right)
{
    const struct pool_worker *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int sort_pools(struct pools *pools)
{
    if (pools->items.count > 1)
        qsort(pools->items.items, pools->items.count, sizeof(*pools->items.items), by_use);
    for (size_t i = 0; i < pools->items.count; i++)
        if (map64_put(&pools->index_of_id, pools->items.items[i].id, i + 1) != 0)
            return -ENOMEM;
    return 0;
}

int pools_finish(struct pools *pools)
{
    if (sort_pools(pools) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < pools->workers.count; i++) {
        struct pool_worker *worker = &pools->workers.items[i];
        const uint64_t *found =
            worker->pool_id ? map64_find(&pools->index_of_id, worker->pool_id) : NULL;
        worker->pool = found ? (uint32_t)(*found - 1) : POOL_NONE;
        if (!found)
            continue;
        struct pool *pool = &pools->items.items[worker->pool];
        uint32_t process = trace_thread_get(pools->trace, worker->thread)->process;
        worker->is_local = process == pool->process;
        if (pool->end_ns > 0)
            share_out(pools, pool, worker);
        add_worker(pool, worker);
    }
    if (pools->workers.count > 1)
        qsort(pools->workers.items, pools->workers.count, sizeof(*pools->workers.items), by_pool);
    return 0;
}

uint32_t pools_all(const struct pools *pools, const struct pool **ret_pools)
{
    *ret_pools = pools->items.items;
    return (uint32_t)pools->items.count;
}

uint32_t pools_workers(const struct pools *pools, const struct pool_worker **ret_workers)
{
    *ret_workers = pools->workers.items;
    return (uint32_t)pools->workers.count;
}
