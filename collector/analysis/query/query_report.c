/* SPDX-License-Identifier: MIT */
/* The tables of `annot report` as tables of SQL. The report is made on first use, and kept. */
#include "query_report.h"

#include "query_cells.h"
#include "query_state.h"
#include "reader.h"
#include "table.h"

#include "report.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const query_report_names[] = {
    "recording",
    "ranges",
    "overlapping_ranges",
    "track_ranges",
    "inherited_ranges",
    "unrecorded_ranges",
    "imports",
    "marks",
    "counters",
    "gpu_kernels",
    "gpu_operations",
    "gpu_ranges",
    "gpu_captures",
    "gpu_queues",
    "gpu_stalls",
    "tasks",
    "pools",
    "pool_workers",
    "processes",
    "threads",
    "calls",
    "call_edges",
    "calls_by_context",
    "coroutines",
    "functions",
    "python_functions",
    "lines",
    "line_counts",
    "waits",
    "awaits",
    "loop_blocks",
    "wall",
    "own_functions",
    "call_tree",
    "wait_places",
    "findings",
    "sampling",
    "missing",
    NULL,
};

/* Columns before those of the report. */
enum { COLUMN_REST, COLUMN_PART, COLUMNS_BEFORE };

struct query_report {
    struct store_reader *reader;
    struct report *report;
    struct pass_selection selection;
    struct schema_column columns[REPORT_TABLES_MAX][TABLE_COLUMNS_MAX + COLUMNS_BEFORE + 1];
    uint8_t of_column[REPORT_TABLES_MAX][TABLE_COLUMNS_MAX + COLUMNS_BEFORE];
};

static const char *type_of(const struct table_column *column)
{
    return column->type == COLUMN_TEXT ? "TEXT" : column->type == COLUMN_VALUE ? "REAL" : "INTEGER";
}

static const char *help_of(const struct table_column *column)
{
    if (column->title && strcmp(column->title, column->name) != 0)
        return column->title;
    return column->type == COLUMN_TIME ? "nanoseconds" : "";
}

static void describe(struct query_report *made, unsigned index)
{
    const struct table *table = report_table(made->report, index);
    struct schema_column *columns = made->columns[index];
    unsigned count = 0;
    columns[count++] = (struct schema_column){
        "row_rest", "TEXT", "what is in no other row: its name; NULL: it is a row", BOUND_NONE,
        NULL};
    columns[count++] = (struct schema_column){
        "row_part", "INTEGER", "1: a part of the last row that is none, which has its numbers too",
        BOUND_NONE, NULL};
    for (unsigned i = 0; i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        if (!column->name || column->type == COLUMN_SHARE)
            continue;
        made->of_column[index][count] = (uint8_t)i;
        columns[count++] = (struct schema_column){column->name, type_of(column), help_of(column),
                                                  BOUND_NONE, NULL};
    }
}

static int make_report(struct query *query, struct query_report *made)
{
    int error = store_reader_open(query->options.path, &made->reader);
    if (error)
        return error;
    made->selection = *query->options.selection;
    const struct report_options options = {
        .path = query->options.path,
        .range = query->options.selection->range,
        .only = "",
        .reader = made->reader,
        .selection = &made->selection,
        .grouping = RANGE_BY_PATH,
        .sort = RANGE_COLUMN_SELF,
        .limit = UINT64_MAX,
        .functions = UINT64_MAX,
        .all = true,
        .lines = true,
    };
    error = report_create(&options, &made->report);
    for (unsigned i = 0; !error && i < report_table_count(made->report); i++)
        describe(made, i);
    return error;
}

/* NULL: read_error. */
static struct query_report *report_of(struct query *query)
{
    if (query->report)
        return query->report;
    struct query_report *made = calloc(1, sizeof(*made));
    query->read_error = made ? make_report(query, made) : -ENOMEM;
    if (query->read_error) {
        query_report_destroy(made);
        return NULL;
    }
    query->report = made;
    return made;
}

void query_report_destroy(struct query_report *made)
{
    if (!made)
        return;
    report_destroy(made->report);
    store_reader_close(made->reader);
    free(made);
}

/* UINT_MAX: not found. */
static unsigned find(const struct query_report *made, const char *name)
{
    for (unsigned i = 0; i < report_table_count(made->report); i++)
        if (strcmp(report_table(made->report, i)->name, name) == 0)
            return i;
    return UINT32_MAX;
}

int query_report_columns(struct query *query, const char *name,
                         const struct schema_column **ret_columns)
{
    struct query_report *made = report_of(query);
    if (!made)
        return query->read_error;
    unsigned index = find(made, name);
    if (index == UINT32_MAX)
        return -ENOENT;
    *ret_columns = made->columns[index];
    return 0;
}

/* ---- Scans ----------------------------------------------------------------------------------- */

struct report_scan {
    const struct table *table;
    const uint8_t *of_column;
    uint64_t row;
    bool begun;
    struct table_row filled;
};

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct report_scan *scan = cursor->state;
    const struct query_report *made = cursor->query->report;
    unsigned index = find(made, cursor->table->name);
    (void)bounds;
    scan->table = report_table(made->report, index);
    scan->of_column = made->of_column[index];
    scan->row = 0;
    scan->begun = false;
    return 0;
}

static int next(struct query_cursor *cursor)
{
    struct report_scan *scan = cursor->state;
    scan->row += scan->begun;
    scan->begun = true;
    if (scan->row >= scan->table->row_count)
        return 0;
    table_row(scan->table, scan->row, &scan->filled);
    return 1;
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct report_scan *scan = cursor->state;
    const struct table_row *row = &scan->filled;
    if (column < COLUMNS_BEFORE) {
        if (column == COLUMN_PART)
            put_integer(context, row->role == ROW_PART);
        else if (row->rest)
            put_constant(context, row->rest);
        return;
    }
    unsigned at = scan->of_column[column];
    const struct cell *cell = &row->cells[at];
    if (cell->state != CELL_KNOWN)
        return;
    if (scan->table->columns[at].type == COLUMN_TEXT)
        put_copy(context, cell->text, strlen(cell->text));
    else if (scan->table->columns[at].type == COLUMN_VALUE)
        sqlite3_result_double(context, cell->value);
    else
        put_integer(context, cell->number);
}

static int64_t number(const struct query_cursor *cursor)
{
    const struct report_scan *scan = cursor->state;
    return (int64_t)scan->row;
}

static double count(const struct query *query, unsigned kind)
{
    (void)query;
    (void)kind;
    return 1000;
}

const struct query_rows report_rows = {
    .state_size = sizeof(struct report_scan),
    .count = count,
    .filter = filter,
    .next = next,
    .put = put,
    .number = number,
};
