/* SPDX-License-Identifier: MIT */
/* Tasks of event loops and requests: the outermost ranges of tracks, as columns. Tasks of pools. */
#include "page_tasks.h"

#include "page_data.h"
#include "page_model.h"
#include "page_ranges.h"
#include "page_spans.h"
#include "pools.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Blocks of event loops ------------------------------------------------------------------- */

/* Single blocks; the report's table "loop_blocks" has their sums. Beyond the limit, the longest are
 * kept. */

enum block_column { BLOCK_ROW, BLOCK_BEGIN, BLOCK_LENGTH, BLOCK_TIME, BLOCK_OTHERS, BLOCK_THREAD };

struct chosen {
    const struct page *page;
    struct loop_block *items;
    size_t count;
};

static int longest_first(const void *left, const void *right)
{
    const struct loop_block *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct loop_block *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int64_t block_value(const struct page *page, const struct loop_block *block,
                           enum block_column column)
{
    bool known = block->thread < trace_thread_count(page->trace) &&
                 page->thread_index[block->thread] != PAGE_NONE;
    int64_t begin_ns = page_since_begin(page, block->begin_ns);
    switch (column) {
    case BLOCK_ROW:
        return block->place < page->row_limit ? (int64_t)block->place : -1;
    case BLOCK_BEGIN:
        return begin_ns;
    case BLOCK_LENGTH:
        return page_since_begin(page, block->end_ns) - begin_ns;
    case BLOCK_TIME:
        return (int64_t)block->time_ns;
    case BLOCK_OTHERS:
        return (int64_t)block->others;
    default:
        return known ? (int64_t)page->thread_index[block->thread] : -1;
    }
}

static void put_block_column(const struct chosen *chosen, struct json_doc *doc, const char *key,
                             enum block_column column)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < chosen->count; i++)
        json_doc_int(doc, NULL, block_value(chosen->page, &chosen->items[i], column));
    json_doc_close(doc);
}

int page_put_loops(struct page *page, struct json_doc *doc)
{
    const struct loop_block *blocks;
    size_t count = loop_blocks_each(report_loops(page->report), &blocks);
    size_t limit = (size_t)page->row_limit * 10, shown = count < limit ? count : limit;
    struct chosen chosen = {page, calloc(count + 1, sizeof(*blocks)), shown};
    if (!chosen.items)
        return -ENOMEM;
    if (count > 0)
        memcpy(chosen.items, blocks, count * sizeof(*blocks));
    if (shown < count)
        qsort(chosen.items, count, sizeof(*blocks), longest_first);
    qsort(chosen.items, shown, sizeof(*blocks), by_time);
    json_doc_object(doc, "loop_blocks");
    put_block_column(&chosen, doc, "row", BLOCK_ROW);
    put_block_column(&chosen, doc, "begin", BLOCK_BEGIN);
    put_block_column(&chosen, doc, "length", BLOCK_LENGTH);
    put_block_column(&chosen, doc, "ns", BLOCK_TIME);
    put_block_column(&chosen, doc, "others", BLOCK_OTHERS);
    put_block_column(&chosen, doc, "thread", BLOCK_THREAD);
    json_doc_uint(doc, "more", count - shown);
    json_doc_close(doc);
    free(chosen.items);
    return 0;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* The status is a value "status" of the range, given at its begin or end. */

/* A number, a string with the mark IS_WORD, or 0 if absent. */
enum { NUMBER_MAX = 1 << 30 };

#define IS_WORD (UINT32_C(1) << 31)

/* Common key names, including OpenTelemetry's. */
static bool is_status(const struct trace *trace, const struct arg *value)
{
    static const char *const keys[] = {"status", "status_code", "http.status_code",
                                       "http.response.status_code"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(trace_string(trace, value->key)->bytes, keys[i]) == 0)
            return true;
    return false;
}

static uint32_t encode(const struct arg *value)
{
    switch (value->kind) {
    case VALUE_STRING:
        return value->value.string ? IS_WORD | value->value.string : 0;
    case VALUE_INT64:
        return value->value.int64 >= 0 && value->value.int64 < NUMBER_MAX
                   ? (uint32_t)value->value.int64 + 1
                   : 0;
    case VALUE_UINT64:
        return value->value.uint64 < NUMBER_MAX ? (uint32_t)value->value.uint64 + 1 : 0;
    default:
        return 0;
    }
}

/* Uses the last one, as the status at the end is final. */
uint32_t page_status_of(const struct trace *trace, const struct args *values)
{
    for (uint32_t i = values->count; i-- > 0;)
        if (is_status(trace, &values->items[i]) && encode(&values->items[i]) != 0)
            return encode(&values->items[i]);
    return 0;
}

static void put_status(const struct page *page, struct json_doc *doc, uint32_t status)
{
    if (status == 0)
        json_doc_null(doc, NULL);
    else if (status & IS_WORD)
        page_put_text(page, doc, NULL, trace_string(page->trace, status & ~IS_WORD)->bytes);
    else
        json_doc_uint(doc, NULL, status - 1);
}

/* Omits the column if all requests lack a status. */
static void page_put_statuses(const struct page *page, struct json_doc *doc,
                              const struct page_longest *requests)
{
    size_t with = 0;
    for (size_t i = 0; i < requests->items.count; i++)
        with += requests->items.items[i].status != 0;
    if (with == 0)
        return;
    json_doc_array(doc, "status");
    for (size_t i = 0; i < requests->items.count; i++)
        put_status(page, doc, requests->items.items[i].status);
    json_doc_close(doc);
}

enum column { BEGIN, LENGTH, NAME, THREAD, AWAITED };

static int by_begin(const void *left, const void *right)
{
    const struct page_range *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->sub < b->sub ? -1 : a->sub > b->sub;
}

static int64_t value_of(const struct page *page, const struct page_range *range, enum column column)
{
    uint32_t thread = page->thread_index[range->thread];
    int64_t begin_ns = page_since_begin(page, range->begin_ns);
    const uint64_t *awaited;
    switch (column) {
    case BEGIN:
        return begin_ns;
    case LENGTH:
        return page_since_begin(page, range->begin_ns + (int64_t)range->length_ns) - begin_ns;
    case NAME:
        return page_use_name(&page->names, range->name);
    case THREAD:
        return thread == PAGE_NONE ? -1 : (int64_t)thread;
    default:
        awaited = map64_find(&page->spans.await_by_track, (uint64_t)range->sub + 1);
        return awaited ? (int64_t)*awaited : 0;
    }
}

static void put_column(const struct page *page, struct json_doc *doc, const char *key,
                       enum column column, const struct page_longest *ranges)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < ranges->items.count; i++)
        json_doc_int(doc, NULL, value_of(page, &ranges->items.items[i], column));
    json_doc_close(doc);
}

static void put_ranges(const struct page *page, struct json_doc *doc, const char *key,
                       const struct page_longest *ranges)
{
    json_doc_object(doc, key);
    put_column(page, doc, "name_of", NAME, ranges);
    put_column(page, doc, "begin", BEGIN, ranges);
    put_column(page, doc, "length", LENGTH, ranges);
    put_column(page, doc, "thread", THREAD, ranges);
    if (ranges == &page->spans.tasks)
        put_column(page, doc, "awaiting_ns", AWAITED, ranges);
    if (ranges == &page->spans.requests)
        page_put_statuses(page, doc, ranges);
    json_doc_uint(doc, "more", ranges->dropped);
    json_doc_close(doc);
}

int page_tasks_finish(struct page_spans *spans)
{
    struct page_longest *both[] = {&spans->tasks, &spans->requests};
    int error = 0;
    for (size_t i = 0; i < sizeof(both) / sizeof(*both) && !error; i++) {
        error = page_longest_limit(both[i], PAGE_TASKS_MAX);
        if (both[i]->items.count > 0)
            qsort(both[i]->items.items, both[i]->items.count, sizeof(*both[i]->items.items),
                  by_begin);
    }
    return error;
}

int page_put_tasks(struct page *page, struct json_doc *doc)
{
    put_ranges(page, doc, "tasks", &page->spans.tasks);
    put_ranges(page, doc, "requests", &page->spans.requests);
    return 0;
}

/* ---- Tasks of pools -------------------------------------------------------------------------- */

/* Workers of each pool and the times of each task. Beyond the limit, the tasks that ran longest are
 * kept. */

enum { TASKS_READ = 3 * PAGE_TASKS_MAX, LONGEST = 60 };

static uint64_t run_of(const struct page_task *task)
{
    return (uint64_t)(task->timing.at_ns[TASK_ENDED] - task->timing.at_ns[TASK_BEGUN]);
}

static int longest_run_first(const void *left, const void *right)
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
    qsort(lengths, count, sizeof(*lengths), longest_run_first);
    pools->least_ns = limit > 0 ? lengths[limit - 1] : UINT64_MAX;
    free(lengths);
    for (size_t i = 0; i < count; i++)
        if (run_of(&pools->items.items[i]) >= pools->least_ns && kept < limit)
            pools->items.items[kept++] = pools->items.items[i];
    pools->dropped += count - kept;
    pools->items.count = kept;
    return 0;
}

int page_pools_take(void *context, const struct pool_task *pool_task)
{
    struct page_pools *pools = context;
    struct page_task task = {.timing = *pool_task};
    if (run_of(&task) < pools->least_ns) {
        pools->dropped++;
        return 0;
    }
    int64_t name = page_name_of(pools->names, 0, pool_task->name);
    if (name < 0)
        return -ENOMEM;
    task.name = (uint32_t)name;
    int error = vec_push(&pools->items, task);
    return error || pools->items.count < TASKS_READ ? error
                                                    : page_pools_limit(pools, TASKS_READ / 2);
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
        return (a) < (b) ? -1 : 1;

static int by_pool_and_begin(const void *left, const void *right)
{
    const struct page_task *a = left, *b = right;
    COMPARE(a->timing.pool, b->timing.pool)
    COMPARE(a->timing.at_ns[TASK_BEGUN], b->timing.at_ns[TASK_BEGUN])
    COMPARE(a->timing.worker, b->timing.worker)
    return 0;
}

enum task_column { TASK_WORKER, TASK_NAME, TASK_BEGAN, TASK_WAS_SUBMITTED, TASK_PARTS };

static int64_t worker_of(const struct page *page, uint32_t thread)
{
    bool known =
        thread < trace_thread_count(page->trace) && page->thread_index[thread] != PAGE_NONE;
    return known ? (int64_t)page->thread_index[thread] : -1;
}

static int64_t task_value(const struct page *page, const struct page_task *task, unsigned column)
{
    const int64_t *at = task->timing.at_ns;
    switch (column) {
    case TASK_WORKER:
        return worker_of(page, task->timing.worker);
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
            json_doc_int(doc, NULL, task_value(page, &tasks->items[i], column));
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
    for (size_t i = 0; i < all->items.count && all->items.items[i].timing.pool < id; i++)
        tasks.items++;
    while (tasks.items + tasks.count < all->items.items + all->items.count &&
           tasks.items[tasks.count].timing.pool == id)
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
        qsort(pools->items.items, pools->items.count, sizeof(*pools->items.items),
              by_pool_and_begin);
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
