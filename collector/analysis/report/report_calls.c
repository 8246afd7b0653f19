/* SPDX-License-Identifier: MIT */
/* The tables of counted calls: functions, own code first, and callers with callees. */
#include "call_counts.h"
#include "code_owner.h"
#include "report_build.h"
#include "report_functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Functions ------------------------------------------------------------------------------- */

enum {
    NAME,
    LOCATION,
    CALLS,
    OWN,
    OWN_SHARE,
    OWN_PER_CALL,
    TOTAL,
    PER_CALL,
    MIN,
    MAX,
    CPU,
    OFF,
    ESTIMATED,
    FUNCTION,
    KIND,
    MODULE,
    FILE_PATH,
    LINE,
    OWNER,
    SOURCE,
    PRIMITIVE,
    ESTIMATED_OWN,
};

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [CALLS] = {.name = "call_count", .title = "calls", .type = COLUMN_COUNT, .adds_up = true},
    [OWN] = {.name = "own_ns", .title = "own", .type = COLUMN_TIME, .adds_up = true},
    [OWN_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 2, .of = OWN},
    [OWN_PER_CALL] = {.name = "own_per_call_ns",
                      .title = "own/call",
                      .type = COLUMN_TIME,
                      .rank = 4},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    [PER_CALL] = {.name = "per_call_ns", .title = "per call", .type = COLUMN_TIME, .rank = 1},
    [MIN] = {.name = "min_ns", .title = "min", .type = COLUMN_TIME, .rank = 7, .rare = true},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 6, .rare = true},
    [CPU] = {.name = "own_cpu_ns", .type = COLUMN_TIME, .adds_up = true},
    [OFF] = {.name = "own_off_ns",
             .title = "off CPU",
             .type = COLUMN_TIME,
             .rank = 5,
             .adds_up = true,
             .rare = true},
    [ESTIMATED] = {.name = "estimated_call_count",
                   .title = "estimated",
                   .type = COLUMN_COUNT,
                   .adds_up = true,
                   .rare = true},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [FILE_PATH] = {.name = "file", .type = COLUMN_TEXT},
    [LINE] = {.name = "line", .type = COLUMN_NUMBER},
    [OWNER] = {.name = "owner", .type = COLUMN_TEXT},
    [SOURCE] = {.name = "known", .type = COLUMN_TEXT},
    [PRIMITIVE] = {.name = "primitive_call_count", .type = COLUMN_COUNT, .adds_up = true},
    [ESTIMATED_OWN] = {.name = "estimated_own_ns", .type = COLUMN_TIME, .adds_up = true},
};

static const char *known_text(unsigned sources)
{
    return sources & CALLS_ESTIMATED ? "estimated" : sources & CALLS_EXACT ? "exact" : "counted";
}

/* Spans of native functions only have a name. */
static void fill_name(const struct report *report, struct table_row *row, unsigned column,
                      const struct call_function *function)
{
    if (function->label) {
        report_name_cells(report, row, column, &(struct call_place){function->label, 0});
        return;
    }
    row_text(row, column, calls_name(report->trace, function));
    row->owner = CODE_OWN;
}

static void fill_place(const struct report *report, struct table_row *row,
                       const struct call_function *function)
{
    const struct stacks *stacks = trace_stacks_get(report->trace);
    const struct label *label = stacks_get_label(stacks, function->label);
    const struct source *source = stacks_get_source(stacks, label->source);
    fill_name(report, row, NAME, function);
    row_text(row, OWNER, code_owner_name(row->owner));
    row_text(row, SOURCE, known_text(function->sources));
    if (!function->label) {
        row_text(row, FUNCTION, calls_name(report->trace, function));
        row_text(row, KIND, "native");
        return;
    }
    report_function_cells(report, row, FUNCTION, function->label);
    row_text(row, FILE_PATH, trace_string(report->trace, source->path)->bytes);
    row_number(row, LINE, label->first_line);
}

static void fill_numbers(struct table_row *row, const struct call_function *function)
{
    const struct call_numbers *sum = &function->sum;
    bool rough = function->sources & CALLS_ESTIMATED;
    row_count(row, CALLS, sum->calls);
    row_count(row, OWN, sum->own_ns);
    row_count(row, OWN_PER_CALL, sum->calls ? sum->own_ns / sum->calls : 0);
    row_count(row, TOTAL, sum->total_ns);
    row_count(row, PER_CALL, sum->primitive ? sum->total_ns / sum->primitive : 0);
    row_count(row, PRIMITIVE, sum->primitive);
    row_count(row, ESTIMATED, function->estimated_calls);
    row_count(row, ESTIMATED_OWN, function->estimated_ns);
    row->cells[ESTIMATED].quiet = !rough;
    row->cells[CALLS].rough = row->cells[OWN].rough = row->cells[TOTAL].rough = rough;
    if (function->max_ns) {
        row_count(row, MIN, function->min_ns);
        row_count(row, MAX, function->max_ns);
    }
    if (function->off_known) {
        uint64_t off_ns = function->off_ns < sum->own_ns ? function->off_ns : sum->own_ns;
        row_count(row, OFF, off_ns);
        row_count(row, CPU, sum->own_ns - off_ns);
        row->cells[OFF].quiet = off_ns == 0;
        row->cells[OFF].rough = row->cells[CPU].rough = function->off_moved;
    }
}

static void fill_function(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const uint32_t *order = table->rows;
    const struct call_function *functions;
    calls_functions(report->calls, &functions);
    const struct call_function *function = &functions[order[index]];
    if (!row->sums_only)
        fill_place(report, row, function);
    fill_numbers(row, function);
}

/* ---- Callers and callees --------------------------------------------------------------------- */

enum {
    EDGE_CALLER,
    EDGE_CALLER_LOCATION,
    EDGE_CALLEE,
    EDGE_CALLEE_LOCATION,
    EDGE_CALLS,
    EDGE_OWN,
    EDGE_TOTAL,
    EDGE_PRIMITIVE,
    EDGE_ESTIMATED,
    EDGE_CALLER_ROW,
    EDGE_CALLEE_ROW,
};

static const struct table_column edge_columns[] = {
    [EDGE_CALLER] = {.name = "caller", .title = "caller", .type = COLUMN_TEXT},
    [EDGE_CALLER_LOCATION] = {.name = "caller_location",
                              .title = "location",
                              .type = COLUMN_TEXT,
                              .rank = 4},
    [EDGE_CALLEE] = {.name = "callee", .title = "calls", .type = COLUMN_TEXT},
    [EDGE_CALLEE_LOCATION] = {.name = "callee_location",
                              .title = "location",
                              .type = COLUMN_TEXT,
                              .rank = 3},
    [EDGE_CALLS] = {.name = "call_count", .title = "times", .type = COLUMN_COUNT, .adds_up = true},
    [EDGE_OWN] =
        {.name = "own_ns", .title = "own", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [EDGE_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    [EDGE_PRIMITIVE] = {.name = "primitive_call_count", .type = COLUMN_COUNT, .adds_up = true},
    [EDGE_ESTIMATED] = {.name = "estimated_call_count", .type = COLUMN_COUNT, .adds_up = true},
    [EDGE_CALLER_ROW] = {.name = "caller_row", .type = COLUMN_NUMBER},
    [EDGE_CALLEE_ROW] = {.name = "callee_row", .type = COLUMN_NUMBER},
};

/* `rows` of the table: the position of each function in the table of functions. */
static void fill_edge(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct call_function *functions;
    const struct call_edge *edges;
    const uint32_t *places = table->rows;
    calls_functions(report->calls, &functions);
    calls_edges(report->calls, &edges);
    const struct call_edge *edge = &edges[index];
    if (!row->sums_only) {
        fill_name(report, row, EDGE_CALLEE, &functions[edge->callee]);
        fill_name(report, row, EDGE_CALLER, &functions[edge->caller]);
    }
    row_count(row, EDGE_CALLS, edge->sum.calls);
    row_count(row, EDGE_OWN, edge->sum.own_ns);
    row_count(row, EDGE_TOTAL, edge->sum.total_ns);
    row_count(row, EDGE_PRIMITIVE, edge->sum.primitive);
    row_count(row, EDGE_ESTIMATED, edge->estimated_calls);
    row_number(row, EDGE_CALLER_ROW, places[edge->caller]);
    row_number(row, EDGE_CALLEE_ROW, places[edge->callee]);
    row->cells[EDGE_CALLS].rough = functions[edge->callee].sources & CALLS_ESTIMATED;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool is_own(const struct report *report, const struct call_function *function)
{
    return !function->label || code_owner_of(report->trace, function->label) == CODE_OWN;
}

/* Returns the functions with own code first; with `places`, the position of each function in that
 * order. */
static uint32_t *find_order(const struct report *report, bool places)
{
    const struct call_function *functions = NULL;
    uint32_t count = report->calls ? calls_functions(report->calls, &functions) : 0, at = 0;
    uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
    for (unsigned others = 0; others < 2 && order; others++)
        for (uint32_t i = 0; i < count; i++) {
            if (is_own(report, &functions[i]) == (others == 0)) {
                order[places ? i : at] = places ? at : i;
                at++;
            }
        }
    return order;
}

static const char *mode_text(const struct report *report, const struct call_totals *totals)
{
    bool exact = totals->sources & CALLS_EXACT, counted = totals->sources & CALLS_AGGREGATED;
    if (totals->sources & CALLS_ESTIMATED || totals->stopped_count)
        return totals->estimated_calls ? "small functions estimated from samples"
                                       : "small functions counted at first only";
    return exact && counted ? "every call recorded or counted"
           : exact && trace_fact_value(report->trace, TRACE_FACT_SHORT)
               ? "every call recorded that was not too short"
           : exact ? "every call recorded"
                   : "every call counted";
}

/* With samples, a second table has times of functions. Both include the cost of tracing: samples
 * charge it to the innermost function at that moment, traced times to the caller or the callee,
 * depending on when the clock was read. */
static void add_basis(const struct report *report, struct table *table)
{
    if (report->facts.own && own_time_totals(report->facts.own)->sample_count > 0)
        table_add_note(table,
                       (struct table_note){
                           .before = "(rely on this table for calls, and on a recording without "
                                     "tracing for times: samples and traced calls charge the cost "
                                     "of tracing to different functions)"});
}

static int add_titles(const struct report *report, struct table *table)
{
    char title[256];
    const struct call_totals *totals = calls_totals(report->calls);
    snprintf(title, sizeof(title), "Calls%s (%s)", report->options.sorted ? "" : ", own code first",
             mode_text(report, totals));
    if (trace_fact_value(report->trace, TRACE_FACT_SHORT))
        table_add_note(
            table, (struct table_note){.before = "(too short, and left out: ",
                                       .count = trace_fact_value(report->trace, TRACE_FACT_SHORT),
                                       .after = " calls; their time is their callers' own)"});
    if (totals->estimated_calls)
        table_add_note(table, (struct table_note){
                                  .before = "(~ estimated from samples, of functions that were no "
                                            "longer counted: ",
                                  .count = totals->estimated_calls,
                                  .after = " calls or more)"});
    else if (totals->stopped_count)
        table_add_note(table, (struct table_note){
                                  .before = "(~ too low, of functions that were no longer counted, "
                                            "without a sample in them: ",
                                  .count = totals->stopped_count,
                                  .after = ")"});
    if (totals->recording_ns)
        table_add_note(table,
                       (struct table_note){.before = "(of the own time of a recorded call, about ",
                                           .count = totals->recording_ns,
                                           .after = " ns are those of recording it)"});
    if (totals->no_path_calls)
        table_add_note(table,
                       (struct table_note){.before = "(without their callers, for want of room: ",
                                           .count = totals->no_path_calls,
                                           .after = " calls)"});
    if (totals->outside_sums)
        table_add_note(table, (struct table_note){
                                  .before = "(counted elsewhere, or without their ranges, which "
                                            "--trace-functions=ranges records: ",
                                  .count = totals->outside_sums,
                                  .after = " calls)",
                                  .always = true,
                                  .apart = totals->calls == 0});
    if (totals->calls)
        add_basis(report, table);
    return report_title(report, table, title);
}

static int add_functions(struct report *report)
{
    struct table *table = report_add_table(report, "calls", fill_function);
    const struct call_function *functions;
    for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->rows = find_order(report, false);
    table->limit = report->options.functions;
    table->brief = true;
    if (!table->rows)
        return -ENOMEM;
    if (!report->calls)
        return 0;
    table->columns[OWN_SHARE].whole = calls_totals(report->calls)->own_ns;
    table->row_count = calls_functions(report->calls, &functions);
    return add_titles(report, table);
}

static int add_calls(struct report *report)
{
    const struct call_edge *edges;
    int rc = add_functions(report);
    struct table *table = report_add_table(report, "call_edges", fill_edge);
    for (unsigned i = 0; i < sizeof(edge_columns) / sizeof(*edge_columns); i++)
        table_add_column(table, edge_columns[i]);
    table->rows = find_order(report, true);
    table->limit = report->options.functions;
    table->brief = true;
    if (rc != 0 || !table->rows)
        return -ENOMEM;
    if (!report->calls)
        return 0;
    table->row_count = calls_edges(report->calls, &edges);
    return report_title(report, table, "Who called whom");
}

/* ---- Calls by task and range ----------------------------------------------------------------- */

/* The tables of calls by task and range, and of coroutines as a whole. */

/* ---- By task and range ----------------------------------------------------------------------- */

enum {
    TASK,
    RANGE,
    MADE_NAME,
    MADE_LOCATION,
    MADE_CALLS,
    MADE_OWN,
    MADE_OWN_SHARE,
    MADE_TOTAL,
    MADE_PRIMITIVE
};

static const struct table_column columns_made[] = {
    [TASK] = {.name = "task", .title = "task", .type = COLUMN_TEXT},
    [RANGE] = {.name = "range", .title = "range", .type = COLUMN_TEXT},
    [MADE_NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [MADE_LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [MADE_CALLS] = {.name = "call_count", .title = "calls", .type = COLUMN_COUNT, .adds_up = true},
    [MADE_OWN] = {.name = "own_ns", .title = "own", .type = COLUMN_TIME, .adds_up = true},
    [MADE_OWN_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 2, .of = MADE_OWN},
    [MADE_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .rank = 1},
    [MADE_PRIMITIVE] = {.name = "primitive_call_count", .type = COLUMN_COUNT, .adds_up = true},
};

static const char *label_text(const struct report *report, uint32_t label)
{
    const struct stacks *stacks = trace_stacks_get(report->trace);
    return trace_string(report->trace, stacks_get_label(stacks, label)->text)->bytes;
}

/* Returns "fetch" for "task fetch", as pyannot names tasks. */
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
            report_name_cells(report, row, MADE_NAME, &(struct call_place){function->label, 0});
        else
            row_text(row, MADE_NAME, calls_name(report->trace, function));
    }
    row_count(row, MADE_CALLS, made->sum.calls);
    row_count(row, MADE_OWN, made->sum.own_ns);
    row_count(row, MADE_TOTAL, made->sum.total_ns);
    row_count(row, MADE_PRIMITIVE, made->sum.primitive);
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

enum { WHO, WHERE, TIMES, WHOLE, AWAITING, RUNNING, MEAN, MADE_MAX };

static const struct table_column coroutine_columns[] = {
    [WHO] = {.name = "name", .title = "coroutine", .type = COLUMN_TEXT},
    [WHERE] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [TIMES] = {.name = "call_count", .title = "calls", .type = COLUMN_COUNT, .adds_up = true},
    [WHOLE] = {.name = "whole_ns", .title = "begin to end", .type = COLUMN_TIME},
    [AWAITING] = {.name = "awaiting_ns", .title = "awaiting", .type = COLUMN_TIME},
    [RUNNING] = {.name = "running_ns", .title = "running", .type = COLUMN_TIME, .rank = 1},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 2},
    [MADE_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 4},
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
    row_count(row, MADE_MAX, coroutine->max_ns);
}

static int add_calls_made(struct report *report)
{
    const struct call_made *made;
    const struct call_coroutine *coroutines;
    struct table *table = report_add_table(report, "calls_by_context", fill_made);
    for (size_t i = 0; i < sizeof(columns_made) / sizeof(*columns_made); i++)
        table_add_column(table, columns_made[i]);
    struct table *whole = report_add_table(report, "coroutines", fill_coroutine);
    for (size_t i = 0; i < sizeof(coroutine_columns) / sizeof(*coroutine_columns); i++)
        table_add_column(whole, coroutine_columns[i]);
    table->limit = whole->limit = report->options.functions;
    if (!report->calls)
        return 0;
    table->columns[MADE_OWN_SHARE].whole = calls_totals(report->calls)->own_ns;
    table->row_count = calls_made(report->calls, &made);
    whole->row_count = calls_coroutines(report->calls, &coroutines);
    int rc = table->row_count
                 ? report_title(report, table, "Calls, by the task and the range they were made in")
                 : 0;
    return rc || !whole->row_count
               ? rc
               : report_title(report, whole, "Coroutines that tasks ran, from begin to end");
}

/* ---- The part -------------------------------------------------------------------------------- */

/* Only if the recording has calls, as their sink has a cost. */
static int create(struct report *report)
{
    const struct calls_options options = {.off_cpu = trace_sampling_get(report->trace)->off_cpu,
                                          .range = report->options.range};
    if (!calls_any(report->trace))
        return 0;
    report->calls = calls_create(report->trace, &options);
    return report->calls ? 0 : -ENOMEM;
}

static struct sink sink(const struct report *report)
{
    return report->calls ? calls_sink(report->calls) : (struct sink){0};
}

static int finish(struct report *report)
{
    return report->calls ? calls_finish(report->calls) : 0;
}

static int add_tables(struct report *report)
{
    int rc = add_calls(report);
    return rc == 0 ? add_calls_made(report) : rc;
}

static void destroy(struct report *report)
{
    calls_destroy(report->calls);
}

const struct report_part report_part_calls = {
    .create = create, .sink = sink, .finish = finish, .add_tables = add_tables, .destroy = destroy};
