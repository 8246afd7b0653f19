/* SPDX-License-Identifier: MIT */
/* The tables of pools and of their workers. */
#include "number.h"
#include "pool_tasks.h"
#include "pools.h"
#include "range_stats.h"
#include "report_build.h"
#include "report_functions.h"
#include "report_samples.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* The table of tasks of Python's pools and executors: a function's row has the whole time of its
 * tasks; below it, the parts, which sum up to it. */

enum {
    LABEL,
    FUNCTION,
    WORKERS,
    PART,
    TASKS,
    CALLS,
    UNFINISHED,
    RECEIVED,
    TASK_BYTES,
    RESULT_BYTES,
    TOTAL,
    SHARE,
    CPU,
    MEAN,
    P50,
    P90,
    MAX,
    PICKLED,
};

static const struct table_column columns[] = {
    [LABEL] = {.title = "function", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [WORKERS] = {.name = "workers", .type = COLUMN_TEXT},
    [PART] = {.name = "part", .type = COLUMN_TEXT},
    [TASKS] = {.name = "count", .title = "tasks", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    [CALLS] = {.name = "call_count", .type = COLUMN_COUNT, .adds_up = true},
    [UNFINISHED] = {.name = "unfinished_count", .type = COLUMN_COUNT, .adds_up = true},
    [RECEIVED] = {.name = "received_count", .type = COLUMN_COUNT, .adds_up = true},
    [TASK_BYTES] = {.name = "task_bytes", .type = COLUMN_BYTES, .adds_up = true},
    [RESULT_BYTES] = {.name = "result_bytes", .type = COLUMN_BYTES, .adds_up = true},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 2, .of = TOTAL, .of_row = true},
    [CPU] = {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME, .adds_up = true},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME},
    [P50] = {.name = "p50_ns", .title = "p50", .type = COLUMN_TIME},
    [P90] = {.name = "p90_ns", .title = "p90", .type = COLUMN_TIME},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 4},
    [PICKLED] = {.title = "pickled", .type = COLUMN_BYTES, .rank = 3},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

/* A row: a part of a function's tasks, or the whole. */
struct place {
    uint32_t function;
    enum pool_part part;
};

static bool is_shown(const struct pool_function *function, enum pool_part part)
{
    if (part == POOL_HAND_OVER || part == POOL_START)
        return function->parts[part].sum_ns > 0;
    return !function->is_local || part == POOL_QUEUED || part == POOL_RUN;
}

static void fill_whole(const struct report *report, const struct pool_function *function,
                       struct table_row *row)
{
    const char *name = trace_string(report->trace, function->name)->bytes;
    size_t size;
    char *room = row_room(row, &size);
    struct text text = text_init(room, size < 256 ? size : 256);
    text_format(&text, "%s%s", name, function->is_local ? " (threads)" : "");
    row_take(row, LABEL, text.length);
    row_text(row, FUNCTION, name);
    row_text(row, WORKERS, function->is_local ? "threads" : "processes");
    row_count(row, TASKS, function->count);
    row_count(row, CALLS, function->item_count);
    row_count(row, UNFINISHED, function->unfinished_count);
    row_count(row, RECEIVED, function->received_count);
    row_count(row, TASK_BYTES, function->bytes_in);
    row_count(row, RESULT_BYTES, function->bytes_out);
}

static void fill_part(const struct pool_function *function, enum pool_part part,
                      struct table_row *row)
{
    char label[32];
    row->role = ROW_PART;
    snprintf(label, sizeof(label), "  %s", pool_part_name(part));
    row_text(row, LABEL, label);
    row_text(row, PART, pool_part_name(part));
    /* Bytes are shown where they become objects. */
    if (!function->is_local && (part == POOL_UNPICKLE || part == POOL_FETCH))
        row_count(row, PICKLED, part == POOL_UNPICKLE ? function->bytes_in : function->bytes_out);
}

/* Same limit as for ranges with few samples. */
static bool is_rough(const struct report *report, uint64_t cpu_ns)
{
    double few_ns = RANGE_FEW_SAMPLES * sample_stats_weight_ns(&report->samples.all);
    return cpu_ns > 0 && (double)cpu_ns < few_ns && !report_is_exact(report);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct place *place = (const struct place *)table->rows + index;
    const struct pool_function *functions;
    pool_tasks_functions(report->tasks, &functions);
    const struct pool_function *function = &functions[place->function];
    const struct pool_part_times *times = &function->parts[place->part];
    if (place->part == POOL_WHOLE)
        fill_whole(report, function, row);
    else
        fill_part(function, place->part, row);
    row_count(row, TOTAL, times->sum_ns);
    if (function->cpu_known & 1u << place->part) {
        row_count(row, CPU, function->cpu_ns[place->part]);
        row->cells[CPU].rough = is_rough(report, function->cpu_ns[place->part]);
    }
    if (function->count > 0)
        row_count(row, MEAN, times->sum_ns / function->count);
    row_count(row, P50, times->p50_ns);
    row_count(row, P90, times->p90_ns);
    row_count(row, MAX, times->max_ns);
}

static void add_notes(const struct report *report, struct table *table)
{
    const struct pool_function *functions;
    uint32_t count = pool_tasks_functions(report->tasks, &functions);
    uint64_t unfinished = 0, received = 0, calls = 0, chunks = 0;
    for (uint32_t i = 0; i < count; i++) {
        unfinished += functions[i].unfinished_count;
        received += functions[i].received_count;
        calls += functions[i].item_count;
        chunks += functions[i].count;
    }
    const struct table_note notes[] = {
        {.before = "(tasks of several calls each: ",
         .after = " calls)",
         .count = calls > chunks ? calls : 0},
        {.before = "(worker ended in send, result received: ", .after = ")", .count = received},
        {.before = "(begun, but not seen to the end: ", .after = ")", .count = unfinished},
        {.before = "(submitted, but not seen on a worker: ",
         .after = ")",
         .count = pool_tasks_unseen(report->tasks)},
        {.before = "(too many tasks at once; not in this table: ",
         .after = ")",
         .count = pool_tasks_refused(report->tasks)},
    };
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
        if (notes[i].count > 0)
            table_add_note(table, notes[i]);
}

static int add_tasks(struct report *report)
{
    struct table *table = report_add_table(report, "tasks", fill);
    const struct pool_function *functions = NULL;
    uint32_t count = pool_tasks_functions(report->tasks, &functions);
    struct place *places = calloc((size_t)count * POOL_PART_COUNT + 1, sizeof(*places));
    table->rows = places;
    if (!places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        places[table->row_count++] = (struct place){i, POOL_WHOLE};
        for (int part = 0; part < POOL_WHOLE; part++)
            if (is_shown(&functions[i], (enum pool_part)part))
                places[table->row_count++] = (struct place){i, (enum pool_part)part};
    }
    for (size_t i = 0; i < COLUMNS; i++)
        table_add_column(table, columns[i]);
    table->limit = report->options.limit;
    add_notes(report, table);
    return report_plain_title(table, "tasks of pools, from submission to result");
}

static const struct pools *pools_of(const struct report *report)
{
    return pool_tasks_pools(report->tasks);
}

/* Writes "Pool 1", otherwise its class, otherwise a number. */
static void put_pool(const struct report *report, struct table_row *row, unsigned column,
                     uint32_t index)
{
    const struct pool *pools;
    char number[32];
    if (index >= pools_all(pools_of(report), &pools))
        return;
    uint32_t name = pools[index].name;
    snprintf(number, sizeof(number), "pool %u", index + 1);
    row_text(row, column, name ? trace_string(report->trace, name)->bytes : number);
}

static void put_string(const struct report *report, struct table_row *row, unsigned column,
                       uint32_t string)
{
    if (string)
        row_text(row, column, trace_string(report->trace, string)->bytes);
}

static void put_share(struct table_row *row, unsigned column, uint64_t part, uint64_t whole)
{
    char share[NUMBER_TEXT_SIZE];
    row_text(row, column, number_share(part, whole, share));
}

static void add_columns(struct table *table, const struct table_column *some, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_add_column(table, some[i]);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

enum {
    POOL_NAME,
    POOL_KIND,
    POOL_PID,
    POOL_SIZE,
    POOL_STARTED,
    POOL_METHODS,
    POOL_CALLS,
    POOL_TASKS,
    POOL_ITEMS,
    POOL_CHUNK_MIN,
    POOL_CHUNK,
    POOL_WORKERS,
    POOL_IDLE_WORKERS,
    POOL_WALL,
    POOL_USE,
    POOL_BUSY,
    POOL_BUSY_SHARE,
    POOL_IN_FUNCTIONS,
    POOL_CPU,
    POOL_BEFORE,
    POOL_BETWEEN,
    POOL_AFTER,
};

#define SUM(key, word, level)                                                                      \
    {                                                                                              \
        .name = (key), .title = (word), .type = COLUMN_TIME, .rank = (level), .adds_up = true      \
    }

static const struct table_column pool_columns[] = {
    [POOL_NAME] = {.name = "pool", .title = "pool", .type = COLUMN_TEXT},
    [POOL_KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [POOL_PID] = {.name = "pid", .type = COLUMN_NUMBER},
    [POOL_SIZE] = {.name = "size", .title = "workers", .type = COLUMN_COUNT, .rank = 2},
    [POOL_STARTED] = {.name = "start_method", .title = "start", .type = COLUMN_TEXT, .rank = 8},
    [POOL_METHODS] = {.name = "methods", .title = "calls of", .type = COLUMN_TEXT, .rank = 7},
    [POOL_CALLS] =
        {.name = "call_count", .title = "calls", .type = COLUMN_COUNT, .rank = 6, .adds_up = true},
    [POOL_TASKS] = {.name = "task_count", .title = "tasks", .type = COLUMN_COUNT, .adds_up = true},
    [POOL_ITEMS] = {.name = "item_count", .type = COLUMN_COUNT, .adds_up = true},
    [POOL_CHUNK_MIN] = {.name = "chunk_min", .type = COLUMN_COUNT},
    [POOL_CHUNK] = {.name = "chunk_max", .title = "chunk", .type = COLUMN_COUNT, .rank = 5},
    [POOL_WORKERS] = {.name = "worker_count", .type = COLUMN_COUNT, .adds_up = true},
    [POOL_IDLE_WORKERS] = {.name = "idle_worker_count", .type = COLUMN_COUNT, .adds_up = true},
    [POOL_WALL] = {.name = "wall_ns", .title = "in use", .type = COLUMN_TIME, .rank = 1},
    [POOL_USE] = SUM("worker_ns", NULL, 0),
    [POOL_BUSY] = SUM("busy_ns", "busy", 0),
    [POOL_BUSY_SHARE] = {.title = "of it", .type = COLUMN_TEXT},
    [POOL_IN_FUNCTIONS] = SUM("run_ns", NULL, 0),
    [POOL_CPU] = SUM("cpu_ns", "CPU", 3),
    [POOL_BEFORE] = SUM("idle_before_ns", "before", 4),
    [POOL_BETWEEN] = SUM("idle_between_ns", "between", 4),
    [POOL_AFTER] = SUM("idle_after_ns", "after", 4),
};

/* "map, imap". */
static void put_methods(const struct report *report, const struct pool *pool, struct table_row *row)
{
    size_t size;
    char *room = row_room(row, &size);
    struct text text = text_init(room, size < 128 ? size : 128);
    for (uint32_t i = 0; i < pool->method_count; i++) {
        uint32_t method = pool->methods[i];
        text_format(&text, "%s%s", i ? ", " : "",
                    method ? trace_string(report->trace, method)->bytes : "submit");
    }
    row_take(row, POOL_METHODS, text.length);
}

static void fill_pool(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct pool *pools;
    pools_all(pools_of(report), &pools);
    const struct pool *pool = &pools[index];
    const struct trace_process *process =
        pool->process == UINT32_MAX ? NULL : trace_process_get(report->trace, pool->process);
    put_pool(report, row, POOL_NAME, (uint32_t)index);
    put_string(report, row, POOL_KIND, pool->kind);
    put_string(report, row, POOL_STARTED, pool->started);
    put_methods(report, pool, row);
    if (process)
        row_number(row, POOL_PID, process->pid);
    row_count(row, POOL_SIZE, pool->size ? pool->size : pool->worker_count);
    row_count(row, POOL_CALLS, pool->call_count);
    row_count(row, POOL_TASKS, pool->task_count);
    row_count(row, POOL_ITEMS, pool->item_count);
    row_count(row, POOL_CHUNK_MIN, pool->chunk_min);
    row_count(row, POOL_CHUNK, pool->chunk_max);
    row_count(row, POOL_WORKERS, pool->worker_count);
    row_count(row, POOL_IDLE_WORKERS, pool->idle_count);
    row_count(row, POOL_WALL, (uint64_t)(pool->end_ns - pool->begin_ns));
    row_count(row, POOL_USE, pool->use_ns);
    row_count(row, POOL_BUSY, pool->busy_ns);
    put_share(row, POOL_BUSY_SHARE, pool->busy_ns, pool->use_ns);
    row_count(row, POOL_IN_FUNCTIONS, pool->run_ns);
    row_count(row, POOL_BEFORE, pool->before_ns);
    row_count(row, POOL_BETWEEN, pool->between_ns);
    row_count(row, POOL_AFTER, pool->after_ns);
    if (report->samples.present)
        row_count(row, POOL_CPU, pool->cpu_ns);
}

/* ---- Workers --------------------------------------------------------------------------------- */

enum {
    WORKER_LABEL,
    WORKER_POOL,
    WORKER_PID,
    WORKER_TID,
    WORKER_NAME,
    WORKER_TASKS,
    WORKER_ITEMS,
    WORKER_USE,
    WORKER_BUSY,
    WORKER_BUSY_SHARE,
    WORKER_IN_FUNCTIONS,
    WORKER_CPU,
    WORKER_START,
    WORKER_BEFORE,
    WORKER_BETWEEN,
    WORKER_AFTER,
    WORKER_LONGEST,
    WORKER_LAST_END,
};

static const struct table_column worker_columns[] = {
    [WORKER_LABEL] = {.name = "worker", .title = "worker", .type = COLUMN_TEXT},
    [WORKER_POOL] = {.name = "pool", .title = "pool", .type = COLUMN_TEXT, .rank = 7},
    [WORKER_PID] = {.name = "pid", .type = COLUMN_NUMBER},
    [WORKER_TID] = {.name = "tid", .type = COLUMN_NUMBER},
    [WORKER_NAME] = {.name = "thread", .type = COLUMN_TEXT},
    [WORKER_TASKS] = {.name = "task_count",
                      .title = "tasks",
                      .type = COLUMN_COUNT,
                      .adds_up = true},
    [WORKER_ITEMS] = {.name = "item_count", .type = COLUMN_COUNT, .adds_up = true},
    [WORKER_USE] = SUM("worker_ns", "there", 2),
    [WORKER_BUSY] = SUM("busy_ns", "busy", 0),
    [WORKER_BUSY_SHARE] = {.title = "of it", .type = COLUMN_TEXT},
    [WORKER_IN_FUNCTIONS] = SUM("run_ns", NULL, 0),
    [WORKER_CPU] = SUM("cpu_ns", "CPU", 3),
    [WORKER_START] = SUM("startup_ns", "start", 6),
    [WORKER_BEFORE] = SUM("idle_before_ns", "before", 1),
    [WORKER_BETWEEN] = SUM("idle_between_ns", "between", 1),
    [WORKER_AFTER] = SUM("idle_after_ns", "after", 1),
    [WORKER_LONGEST] = {.name = "max_ns", .title = "longest", .type = COLUMN_TIME, .rank = 5},
    [WORKER_LAST_END] = {.name = "last_end_ns",
                         .title = "last end",
                         .type = COLUMN_TIME,
                         .rank = 4},
};

/* Labels processes by number, threads by name. */
static void put_worker(const struct report *report, const struct pool_worker *worker,
                       struct table_row *row)
{
    const struct trace *trace = report->trace;
    const struct trace_thread *thread = trace_thread_get(trace, worker->thread);
    const struct trace_process *process = trace_process_get(trace, thread->process);
    char name[256], label[16];
    trace_thread_label(trace, worker->thread, name, sizeof(name));
    snprintf(label, sizeof(label), "%d", process->pid);
    row_text(row, WORKER_LABEL, worker->is_local ? name : label);
    row_text(row, WORKER_NAME, name);
    row_number(row, WORKER_PID, process->pid);
    row_number(row, WORKER_TID, thread->tid);
}

static void fill_worker(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct pool_worker *workers;
    pools_workers(pools_of(report), &workers);
    const struct pool_worker *worker = &workers[index];
    int64_t begin_ns = report->facts.totals->begin_ns;
    put_worker(report, worker, row);
    put_pool(report, row, WORKER_POOL, worker->pool);
    row_count(row, WORKER_TASKS, worker->task_count);
    row_count(row, WORKER_ITEMS, worker->item_count);
    row_count(row, WORKER_USE, worker->use_ns);
    row_count(row, WORKER_BUSY, worker->busy_ns);
    put_share(row, WORKER_BUSY_SHARE, worker->busy_ns, worker->use_ns);
    row_count(row, WORKER_IN_FUNCTIONS, worker->run_ns);
    row_count(row, WORKER_START, worker->start_ns);
    row_count(row, WORKER_BEFORE, worker->before_ns);
    row_count(row, WORKER_BETWEEN, worker->between_ns);
    row_count(row, WORKER_AFTER, worker->after_ns);
    row_count(row, WORKER_LONGEST, worker->longest_ns);
    if (worker->task_count > 0 && worker->last_ns > begin_ns)
        row_count(row, WORKER_LAST_END, (uint64_t)(worker->last_ns - begin_ns));
    if (report->samples.present)
        row_count(row, WORKER_CPU, worker->cpu_ns);
}

static int add_pools(struct report *report)
{
    const struct pool *pools;
    const struct pool_worker *workers;
    struct table *table = report_add_table(report, "pools", fill_pool);
    table->row_count = pools_all(pools_of(report), &pools);
    table->limit = report->options.limit;
    add_columns(table, pool_columns, sizeof(pool_columns) / sizeof(*pool_columns));
    int rc = report_plain_title(table, "pools, and what their workers did while they were in use");
    if (rc != 0)
        return rc;
    table = report_add_table(report, "pool_workers", fill_worker);
    table->row_count = pools_workers(pools_of(report), &workers);
    table->limit = report->options.limit;
    add_columns(table, worker_columns, sizeof(worker_columns) / sizeof(*worker_columns));
    return report_plain_title(table, "workers of pools: busy, and idle before, between and after "
                                     "their tasks");
}

/* ---- The part -------------------------------------------------------------------------------- */

static int create(struct report *report)
{
    report->tasks = pool_tasks_create(report->trace);
    if (!report->tasks)
        return -ENOMEM;
    pool_tasks_report(report->tasks, &report->options.task_watch);
    return 0;
}

static struct sink sink(const struct report *report)
{
    return pool_tasks_sink(report->tasks);
}

static int finish(struct report *report)
{
    return pool_tasks_finish(report->tasks);
}

static int add_tables(struct report *report)
{
    int rc = add_tasks(report);
    return rc == 0 ? add_pools(report) : rc;
}

static void destroy(struct report *report)
{
    pool_tasks_destroy(report->tasks);
}

const struct report_part report_part_pools = {
    .create = create, .sink = sink, .finish = finish, .add_tables = add_tables, .destroy = destroy};
