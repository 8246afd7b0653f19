/* SPDX-License-Identifier: MIT */
/* The tables of calls by the task and the range that they were made in, and of coroutines as a
 * whole. */
#include "report_parts.h"

#include "call_counts.h"

#include <string.h>

/* ---- By task and range ----------------------------------------------------------------------- */

enum { TASK, RANGE, NAME, LOCATION, CALLS, OWN, OWN_SHARE, TOTAL, PRIMITIVE };

static const struct table_column columns[] = {
    [TASK] = {.name = "task", .title = "task", .type = COLUMN_TEXT},
    [RANGE] = {.name = "range", .title = "range", .type = COLUMN_TEXT},
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [CALLS] = {.name = "calls", .title = "calls", .type = COLUMN_COUNT, .adds_up = true},
    [OWN] = {.name = "own_ns", .title = "own", .type = COLUMN_TIME, .adds_up = true},
    [OWN_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 2, .of = OWN},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .rank = 1},
    [PRIMITIVE] = {.name = "primitive_calls", .type = COLUMN_COUNT, .adds_up = true},
};

static const char *label_text(const struct report *report, uint32_t label)
{
    const struct stacks *stacks = trace_stacks_get(report->trace);
    return trace_string(report->trace, stacks_get_label(stacks, label)->text)->bytes;
}

/* Of what pyannot calls "task fetch", "fetch". */
static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : text;
}

static void fill_made(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct call_function *functions;
    const struct call_made *all;
    calls_functions(report->calls, &functions);
    calls_made(report->calls, &all);
    const struct call_made *made = &all[index];
    const struct call_function *function = &functions[made->function];
    if (!row->sums_only) {
        row_text(row, TASK,
                 made->task ? behind(label_text(report, made->task), LABEL_TASK_PREFIX) : "");
        row_text(row, RANGE, trace_string(report->trace, made->range)->bytes);
        if (function->label)
            report_name_cells(report, row, NAME, &(struct call_place){function->label, 0});
        else
            row_text(row, NAME, calls_name(report->trace, function));
    }
    row_count(row, CALLS, made->sum.calls);
    row_count(row, OWN, made->sum.own_ns);
    row_count(row, TOTAL, made->sum.total_ns);
    row_count(row, PRIMITIVE, made->sum.primitive);
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

enum { WHO, WHERE, TIMES, WHOLE, AWAITING, RUNNING, MEAN, MAX };

static const struct table_column coroutine_columns[] = {
    [WHO] = {.name = "name", .title = "coroutine", .type = COLUMN_TEXT},
    [WHERE] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [TIMES] = {.name = "calls", .title = "calls", .type = COLUMN_COUNT, .adds_up = true},
    [WHOLE] = {.name = "whole_ns", .title = "begin to end", .type = COLUMN_TIME},
    [AWAITING] = {.name = "awaiting_ns", .title = "awaiting", .type = COLUMN_TIME},
    [RUNNING] = {.name = "running_ns", .title = "running", .type = COLUMN_TIME, .rank = 1},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 2},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 4},
};

static void fill_coroutine(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct call_coroutine *all;
    calls_coroutines(report->calls, &all);
    const struct call_coroutine *coroutine = &all[index];
    uint64_t whole_ns = coroutine->whole_ns, awaiting_ns = coroutine->awaiting_ns;
    awaiting_ns = awaiting_ns < whole_ns ? awaiting_ns : whole_ns;
    if (!row->sums_only)
        report_name_cells(
            report, row, WHO,
            &(struct call_place){trace_name_label(report->trace, coroutine->name), 0});
    row_count(row, TIMES, coroutine->calls);
    row_count(row, WHOLE, whole_ns);
    row_count(row, AWAITING, awaiting_ns);
    row_count(row, RUNNING, whole_ns - awaiting_ns);
    row_count(row, MEAN, coroutine->calls ? whole_ns / coroutine->calls : 0);
    row_count(row, MAX, coroutine->max_ns);
}

int report_add_calls_made(struct report *report)
{
    const struct call_made *made;
    const struct call_coroutine *coroutines;
    struct table *table = report_add_table(report, "calls_by_context", fill_made);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    struct table *whole = report_add_table(report, "coroutines", fill_coroutine);
    for (size_t i = 0; i < sizeof(coroutine_columns) / sizeof(*coroutine_columns); i++)
        table_add_column(whole, coroutine_columns[i]);
    table->limit = whole->limit = report->options.functions;
    if (!report->calls)
        return 0;
    table->columns[OWN_SHARE].whole = calls_totals(report->calls)->own_ns;
    table->row_count = calls_made(report->calls, &made);
    whole->row_count = calls_coroutines(report->calls, &coroutines);
    int rc = table->row_count
                 ? report_title(report, table, "Calls, by the task and the range they were made in")
                 : 0;
    return rc || !whole->row_count
               ? rc
               : report_title(report, whole, "Coroutines that tasks ran, from begin to end");
}
