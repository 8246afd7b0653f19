/* SPDX-License-Identifier: MIT */
/* A function's row has the whole way of its tasks; below it, the parts of the way, which add up. */
#include "report_tasks.h"

#include "number_text.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct table_column columns[] = {
    {"function", 0, true}, {"tasks", 1, false}, {"total", 0, false}, {"%", 2, false},
    {"p50", 0, false},     {"p90", 0, false},   {"max", 4, false},   {"pickled", 3, false},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static void add_part(struct table *table, const struct pool_function *function, enum pool_part part)
{
    const struct pool_part_times *times = &function->parts[part];
    table_add_time(table, times->sum_ns);
    table_add_percent(table, times->sum_ns, function->parts[POOL_WHOLE].sum_ns);
    table_add_time(table, times->p50_ns);
    table_add_time(table, times->p90_ns);
    table_add_time(table, times->max_ns);
}

/* Bytes stand where they become objects. */
static void add_bytes(struct table *table, const struct pool_function *function,
                      enum pool_part part)
{
    char text[NUMBER_TEXT_SIZE];
    uint64_t bytes = part == POOL_UNPICKLE ? function->bytes_in : function->bytes_out;
    bool said = !function->is_local && (part == POOL_UNPICKLE || part == POOL_FETCH);
    table_add(table, said ? number_size(bytes, text) : "");
}

static bool is_shown(const struct pool_function *function, enum pool_part part)
{
    return !function->is_local || part == POOL_QUEUED || part == POOL_RUN;
}

static void add_function(struct table *table, const struct trace *trace,
                         const struct pool_function *function)
{
    char label[256];
    snprintf(label, sizeof(label), "%s%s", trace_string(trace, function->name)->bytes,
             function->is_local ? " (threads)" : "");
    table_add(table, label);
    table_add_count(table, function->count);
    add_part(table, function, POOL_WHOLE);
    add_bytes(table, function, POOL_WHOLE);
    for (int part = 0; part < POOL_WHOLE; part++) {
        if (!is_shown(function, (enum pool_part)part))
            continue;
        snprintf(label, sizeof(label), "  %s", pool_part_name((enum pool_part)part));
        table_add(table, label);
        table_add(table, "");
        add_part(table, function, (enum pool_part)part);
        add_bytes(table, function, (enum pool_part)part);
    }
}

/* The functions that are not shown, in one row. */
static void add_more(struct table *table, const struct pool_function *functions, uint32_t count)
{
    char label[NUMBER_TEXT_SIZE + 16], number[NUMBER_TEXT_SIZE];
    uint64_t tasks = 0, sum_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        tasks += functions[i].count;
        sum_ns += functions[i].parts[POOL_WHOLE].sum_ns;
    }
    snprintf(label, sizeof(label), "(%s more)", number_count(count, number));
    table_add(table, label);
    table_add_count(table, tasks);
    table_add_time(table, sum_ns);
    for (int column = 3; column < COLUMNS; column++)
        table_add(table, "");
}

static void print_rest(const struct pool_tasks *tasks)
{
    const struct pool_function *functions;
    char text[NUMBER_TEXT_SIZE];
    uint32_t count = pool_tasks_functions(tasks, &functions);
    uint64_t unfinished = 0, received = 0, calls = 0, chunks = 0;
    for (uint32_t i = 0; i < count; i++) {
        unfinished += functions[i].unfinished_count;
        received += functions[i].received_count;
        calls += functions[i].item_count;
        chunks += functions[i].count;
    }
    if (calls > chunks)
        printf("(tasks of several calls each: %s calls)\n", number_count(calls, text));
    if (received)
        printf("(worker ended in send, result received: %s)\n", number_count(received, text));
    if (unfinished)
        printf("(begun, but not seen to the end: %s)\n", number_count(unfinished, text));
    if (pool_tasks_unseen(tasks))
        printf("(submitted, but not seen on a worker: %s)\n",
               number_count(pool_tasks_unseen(tasks), text));
    if (pool_tasks_refused(tasks))
        printf("(too many tasks at once; not in this table: %s)\n",
               number_count(pool_tasks_refused(tasks), text));
}

int report_tasks_print(const struct report_tasks_options *options, const struct pool_tasks *tasks)
{
    const struct pool_function *functions;
    size_t hidden;
    uint32_t count = pool_tasks_functions(tasks, &functions);
    if (count == 0)
        return 0;
    struct table *table = table_create(columns, COLUMNS);
    if (!table)
        return -ENOMEM;
    for (uint32_t i = 0; i < count && i < options->limit; i++)
        add_function(table, options->trace, &functions[i]);
    if (count > options->limit)
        add_more(table, functions + options->limit, count - (uint32_t)options->limit);
    printf("\ntasks of pools, from submission to result\n");
    int rc = table_print(table, options->width, options->color, &hidden);
    table_destroy(table);
    print_rest(tasks);
    return rc;
}

static void put_part(struct json_doc *doc, const struct pool_function *function,
                     enum pool_part part)
{
    const struct pool_part_times *times = &function->parts[part];
    const char *name = pool_part_name(part);
    json_doc_object(doc, *name ? name : "whole");
    json_doc_uint(doc, "total_ns", times->sum_ns);
    json_doc_uint(doc, "p50_ns", times->p50_ns);
    json_doc_uint(doc, "p90_ns", times->p90_ns);
    json_doc_uint(doc, "max_ns", times->max_ns);
    json_doc_close(doc);
}

void report_tasks_json(struct json_doc *doc, const struct trace *trace,
                       const struct pool_tasks *tasks)
{
    const struct pool_function *functions = NULL;
    uint32_t count = pool_tasks_functions(tasks, &functions);
    json_doc_array(doc, "tasks");
    for (uint32_t i = 0; i < count; i++) {
        const struct pool_function *function = &functions[i];
        json_doc_object(doc, NULL);
        json_doc_text(doc, "function", trace_string(trace, function->name)->bytes);
        json_doc_text(doc, "workers", function->is_local ? "threads" : "processes");
        json_doc_uint(doc, "count", function->count);
        json_doc_uint(doc, "call_count", function->item_count);
        json_doc_uint(doc, "unfinished_count", function->unfinished_count);
        json_doc_uint(doc, "received_count", function->received_count);
        json_doc_uint(doc, "task_bytes", function->bytes_in);
        json_doc_uint(doc, "result_bytes", function->bytes_out);
        for (int part = 0; part < POOL_PART_COUNT; part++)
            put_part(doc, function, (enum pool_part)part);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void each_part(const struct trace *trace, const struct pool_function *function,
                      enum pool_part part, report_item_fn *each, void *context)
{
    const struct pool_part_times *times = &function->parts[part];
    const struct report_item item = {
        .kind = part == POOL_WHOLE ? "task" : "task part",
        .cells =
            {
                {"function",
                 "path",
                 {.is_text = true, .text = trace_string(trace, function->name)->bytes}},
                {"workers",
                 "code",
                 {.is_text = true, .text = function->is_local ? "threads" : "processes"}},
                {"part", "reason", {.is_text = true, .text = pool_part_name(part)}},
                {"count", "count", {.count = function->count}},
                {"total_ns", "total_ns", {.count = times->sum_ns}},
                {"p50_ns", "p50_ns", {.count = times->p50_ns}},
                {"p90_ns", "p90_ns", {.count = times->p90_ns}},
                {"max_ns", "max_ns", {.count = times->max_ns}},
                {"unfinished", "unfinished", {.count = function->unfinished_count}},
            },
        .count = part == POOL_WHOLE ? 9 : 8,
    };
    each(context, &item);
}

void report_tasks_each(const struct trace *trace, const struct pool_tasks *tasks,
                       report_item_fn *each, void *context)
{
    const struct pool_function *functions = NULL;
    uint32_t count = pool_tasks_functions(tasks, &functions);
    for (uint32_t i = 0; i < count; i++) {
        each_part(trace, &functions[i], POOL_WHOLE, each, context);
        for (int part = 0; part < POOL_WHOLE; part++)
            if (is_shown(&functions[i], (enum pool_part)part))
                each_part(trace, &functions[i], (enum pool_part)part, each, context);
    }
}
