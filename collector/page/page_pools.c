/* SPDX-License-Identifier: MIT */
/* The pools on the page: their workers and the times of each task. Beyond the limit, the tasks that
 * ran longest are kept. */
#include "page_pools.h"

#include "page_data.h"
#include "page_model.h"
#include "page_ranges.h"

#include "pools.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS_READ = 3 * PAGE_TASKS_MAX, LONGEST = 60 };

static uint64_t run_of(const struct page_task *task)
{
    return (uint64_t)(task->told.at_ns[TASK_ENDED] - task->told.at_ns[TASK_BEGUN]);
}

static int longest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

int page_pools_limit(struct page_pools *pools, size_t limit)
{
    size_t count = pools->items.count, kept = 0;
    uint64_t *lengths = count > limit ? calloc(count, sizeof(*lengths)) : NULL;
    if (count <= limit)
        return 0;
    if (!lengths)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        lengths[i] = run_of(&pools->items.items[i]);
    qsort(lengths, count, sizeof(*lengths), longest_first);
    pools->least_ns = limit > 0 ? lengths[limit - 1] : UINT64_MAX;
    free(lengths);
    for (size_t i = 0; i < count; i++)
        if (run_of(&pools->items.items[i]) >= pools->least_ns && kept < limit)
            pools->items.items[kept++] = pools->items.items[i];
    pools->dropped += count - kept;
    pools->items.count = kept;
    return 0;
}

int page_pools_take(void *context, const struct pool_task *told)
{
    struct page_pools *pools = context;
    struct page_task task = {.told = *told};
    if (run_of(&task) < pools->least_ns) {
        pools->dropped++;
        return 0;
    }
    int64_t name = page_name_of(pools->names, 0, told->name);
    if (name < 0)
        return -ENOMEM;
    task.name = (uint32_t)name;
    int error = vec_push(&pools->items, task);
    return error || pools->items.count < TASKS_READ ? error
                                                    : page_pools_limit(pools, TASKS_READ / 2);
}

/* ---- Writing --------------------------------------------------------------------------------- */

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
        return (a) < (b) ? -1 : 1;

static int in_order(const void *left, const void *right)
{
    const struct page_task *a = left, *b = right;
    COMPARE(a->told.pool, b->told.pool)
    COMPARE(a->told.at_ns[TASK_BEGUN], b->told.at_ns[TASK_BEGUN])
    COMPARE(a->told.worker, b->told.worker)
    return 0;
}

enum task_column { TASK_WORKER, TASK_NAME, TASK_BEGAN, TASK_WAS_SUBMITTED, TASK_PARTS };

static int64_t worker_of(const struct page *page, uint32_t thread)
{
    bool known =
        thread < trace_thread_count(page->trace) && page->thread_index[thread] != PAGE_NONE;
    return known ? (int64_t)page->thread_index[thread] : -1;
}

static int64_t value_of(const struct page *page, const struct page_task *task, unsigned column)
{
    const int64_t *at = task->told.at_ns;
    switch (column) {
    case TASK_WORKER:
        return worker_of(page, task->told.worker);
    case TASK_NAME:
        return page_use_name(&page->names, task->name);
    case TASK_BEGAN:
        return page_since_begin(page, at[TASK_RECEIVED]);
    case TASK_WAS_SUBMITTED:
        return page_since_begin(page, at[TASK_SUBMITTED]);
    default:
        return at[TASK_BEGUN + column - TASK_PARTS] - at[TASK_RECEIVED + column - TASK_PARTS];
    }
}

struct tasks {
    const struct page_task *items;
    size_t count;
};

static void put_tasks(const struct page *page, struct json_doc *doc, const struct tasks *tasks)
{
    static const char *const columns[] = {"worker", "name_of", "begin", "submitted", "unpickle",
                                          "run",    "send",    "read",  "fetch"};
    json_doc_object(doc, "tasks");
    for (unsigned column = 0; column < sizeof(columns) / sizeof(*columns); column++) {
        json_doc_array(doc, columns[column]);
        for (size_t i = 0; i < tasks->count; i++)
            json_doc_int(doc, NULL, value_of(page, &tasks->items[i], column));
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

/* The function run by most of the tasks (majority vote). */
static void put_function(const struct page *page, struct json_doc *doc, const struct tasks *tasks)
{
    const struct page_names *names = &page->names;
    uint32_t candidate = PAGE_NONE;
    size_t votes = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        candidate = votes == 0 ? tasks->items[i].name : candidate;
        votes = tasks->items[i].name == candidate ? votes + 1 : votes - 1;
    }
    page_put_text(page, doc, "function",
                  candidate == PAGE_NONE
                      ? ""
                      : trace_string(page->trace, (uint32_t)names->items.items[candidate])->bytes);
}

static void put_workers(const struct page *page, struct json_doc *doc, uint32_t pool)
{
    const struct pool_worker *workers;
    uint32_t count = pools_workers(report_pools(page->report), &workers);
    json_doc_array(doc, "workers");
    for (uint32_t i = 0; i < count; i++)
        if (workers[i].pool == pool && worker_of(page, workers[i].thread) >= 0)
            json_doc_int(doc, NULL, worker_of(page, workers[i].thread));
    json_doc_close(doc);
}

/* Without `pool`, writes tasks of unknown pools. */
static void put_pool(const struct page *page, struct json_doc *doc, uint32_t index,
                     const struct pool *pool)
{
    const struct page_pools *all = &page->pools;
    struct tasks tasks = {all->items.items, 0};
    uint64_t id = pool ? pool->id : 0;
    char name[64];
    snprintf(name, sizeof(name), pool ? "pool %u" : "other tasks", index + 1);
    for (size_t i = 0; i < all->items.count && all->items.items[i].told.pool < id; i++)
        tasks.items++;
    while (tasks.items + tasks.count < all->items.items + all->items.count &&
           tasks.items[tasks.count].told.pool == id)
        tasks.count++;
    if (!pool && tasks.count == 0)
        return;
    json_doc_object(doc, NULL);
    page_put_text(page, doc, "name",
                  pool && pool->name ? trace_string(page->trace, pool->name)->bytes : name);
    put_function(page, doc, &tasks);
    put_workers(page, doc, pool ? index : POOL_NONE);
    put_tasks(page, doc, &tasks);
    if (pool)
        json_doc_uint(doc, "more",
                      pool->task_count > tasks.count ? pool->task_count - tasks.count : 0);
    json_doc_close(doc);
}

int page_pools_finish(struct page_pools *pools)
{
    int error = page_pools_limit(pools, TASKS_READ / 2);
    if (pools->items.count > 0)
        qsort(pools->items.items, pools->items.count, sizeof(*pools->items.items), in_order);
    return error;
}

int page_put_pools(struct page *page, struct json_doc *doc)
{
    const struct pool *pools;
    uint32_t count = pools_all(report_pools(page->report), &pools);
    json_doc_array(doc, "pools");
    for (uint32_t i = 0; i < count && i < PAGE_OWNERS_MAX; i++)
        put_pool(page, doc, i, &pools[i]);
    put_pool(page, doc, 0, NULL);
    json_doc_close(doc);
    return 0;
}
