/* SPDX-License-Identifier: MIT */
/* The table of tasks of Python's pools and executors: a function's row has the whole way of its
 * tasks; below it, the parts of the way, which add up to it. */
#include "pool_tasks.h"
#include "range_stats.h"
#include "report_parts.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

/* A row: a part of a function, or the whole of it. */
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
    /* Bytes stand where they become objects. */
    if (!function->is_local && (part == POOL_UNPICKLE || part == POOL_FETCH))
        row_count(row, PICKLED, part == POOL_UNPICKLE ? function->bytes_in : function->bytes_out);
}

/* As that of ranges with so few samples. */
static bool is_rough(const struct report *report, uint64_t cpu_ns)
{
    double samples = (double)cpu_ns / 1e9 * trace_sampling_get(report->trace)->frequency_hz;
    return cpu_ns > 0 && samples < RANGE_FEW_SAMPLES && !report_is_exact(report);
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

int report_add_tasks(struct report *report)
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
