/* SPDX-License-Identifier: MIT */
/* The tables of report_table.h.
 *
 * What the row limit leaves out is summed in a row of its own, so that count and self add up. */
#include "report_table.h"

#include "number_text.h"
#include "report_functions.h"
#include "report_imports.h"
#include "report_rows.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 8192, COLUMNS_MAX = 16 };

/* How a cell of the range tables is made. */
enum cell { CELL_TIME, CELL_COUNT, CELL_SHARE };

struct range_cell {
    const char *title;
    enum range_column column;
    enum cell cell;
    unsigned rank; /* of table.h */
    bool adds_up;
};

static const struct range_cell range_cells[] = {
    {"count", RANGE_COLUMN_COUNT, CELL_COUNT, 0, true},
    {"total", RANGE_COLUMN_TOTAL, CELL_TIME, 0, false},
    {"self", RANGE_COLUMN_SELF, CELL_TIME, 0, true},
    {"share", RANGE_COLUMN_TOTAL, CELL_SHARE, 0, false},
    {"cpu", RANGE_COLUMN_CPU, CELL_TIME, 1, false},
    {"cpu self", RANGE_COLUMN_CPU_SELF, CELL_TIME, 2, true},
    {"running", RANGE_COLUMN_RUNNING, CELL_TIME, 1, false},
    {"runnable", RANGE_COLUMN_RUNNABLE, CELL_TIME, 1, false},
    {"blocked", RANGE_COLUMN_BLOCKED, CELL_TIME, 1, false},
    {"mean", RANGE_COLUMN_MEAN, CELL_TIME, 2, false},
    {"min", RANGE_COLUMN_MIN, CELL_TIME, 9, false},
    {"p50", RANGE_COLUMN_P50, CELL_TIME, 6, false},
    {"p90", RANGE_COLUMN_P90, CELL_TIME, 8, false},
    {"p99", RANGE_COLUMN_P99, CELL_TIME, 5, false},
    {"max", RANGE_COLUMN_MAX, CELL_TIME, 4, false},
    {"procs", RANGE_COLUMN_PROCESSES, CELL_COUNT, 3, false},
    {"threads", RANGE_COLUMN_THREADS, CELL_COUNT, 7, false},
    {"unfin", RANGE_COLUMN_UNFINISHED, CELL_COUNT, 1, true},
    {"lost", RANGE_COLUMN_LOST, CELL_COUNT, 0, true},
};

enum { RANGE_CELLS = sizeof(range_cells) / sizeof(*range_cells) };

struct rows {
    uint32_t *items; /* those of the table, then those that another one sums up */
    uint64_t count, shown, hidden;
};

/* Imports have a table of their own; by what pyannot marks to be sure that marks arrive (as `annot
 * info` tells) nobody wants to know of his program. */
static bool is_shown(const struct range_stats *stats, enum range_kind kind, uint32_t row)
{
    static const char *const selftest[] = {"started", "forked", "second thread"};
    const char *domain;
    if (kind == RANGE_PUSHED)
        return !report_row_is_import(stats, row);
    if (kind != RANGE_MARK || !report_row_is_observed(stats, row))
        return true;
    const char *name = range_stats_name(stats, row, &domain);
    for (size_t i = 0; i < sizeof(selftest) / sizeof(*selftest); i++)
        if (strcmp(name, selftest[i]) == 0)
            return false;
    return true;
}

/* Puts what is not shown behind the rest. 0 or -ENOMEM. */
static int leave_out(const struct range_stats *stats, enum range_kind kind, struct rows *rows)
{
    uint64_t kept = 0;
    uint32_t *hidden = calloc(rows->count + 1, sizeof(*hidden));
    if (!hidden)
        return -ENOMEM;
    for (uint64_t i = 0; i < rows->count; i++) {
        if (is_shown(stats, kind, rows->items[i]))
            rows->items[kept++] = rows->items[i];
        else
            hidden[rows->hidden++] = rows->items[i];
    }
    memcpy(rows->items + kept, hidden, rows->hidden * sizeof(*hidden));
    rows->count = kept;
    free(hidden);
    return 0;
}

static int rows_of(const struct report_table_options *options, enum range_kind kind,
                   struct rows *ret_rows)
{
    bool no_self = kind == RANGE_OVERLAPPING && options->sort == RANGE_COLUMN_SELF;
    bool cpu_only = kind >= RANGE_INHERITED && options->sort != RANGE_COLUMN_PATH;
    enum range_column sort = no_self    ? RANGE_COLUMN_TOTAL
                             : cpu_only ? RANGE_COLUMN_CPU
                                        : options->sort;
    int64_t count = range_stats_sort(options->stats, kind, sort, &ret_rows->items);
    if (count < 0)
        return (int)count;
    ret_rows->count = (uint64_t)count;
    if (!options->all && leave_out(options->stats, kind, ret_rows) != 0)
        return -ENOMEM;
    ret_rows->shown = ret_rows->count < options->limit ? ret_rows->count : options->limit;
    return 0;
}

static size_t add_owner(const struct report_table_options *options, const struct range_row *row,
                        char *buffer, size_t size)
{
    if (row->owner == RANGE_NO_OWNER)
        return 0;
    bool by_thread = options->grouping == RANGE_BY_THREAD && row->kind != RANGE_COUNTER;
    uint32_t process = row->owner;
    size_t length = 0;
    if (by_thread) {
        const struct trace_thread *thread = trace_thread_get(options->trace, row->owner);
        process = thread ? thread->process : 0;
    }
    length = trace_process_label(options->trace, process, buffer, size);
    if (by_thread && length + 2 < size) {
        buffer[length++] = ',';
        buffer[length++] = ' ';
        length += trace_thread_label(options->trace, row->owner, buffer + length, size - length);
    }
    if (length + 3 < size) {
        buffer[length++] = ':';
        buffer[length++] = ' ';
        buffer[length] = '\0';
    }
    return length;
}

static void add_label(const struct report_table_options *options, struct table *table,
                      uint32_t index)
{
    char label[LABEL_SIZE];
    const struct range_row *row = range_stats_row(options->stats, index);
    size_t length = add_owner(options, row, label, sizeof(label) / 2);
    range_stats_label(options->stats, index, label + length, sizeof(label) - length);
    table_add(table, label);
}

/* A range that is known from samples only has no times of its own. */
static bool is_untold(const struct range_row *row, enum range_column column)
{
    return row->count == 0 && column != RANGE_COLUMN_COUNT && column != RANGE_COLUMN_CPU &&
           column != RANGE_COLUMN_CPU_SELF && column != RANGE_COLUMN_LOST;
}

static void add_range_cell(const struct report_table_options *options, struct table *table,
                           enum cell cell, uint64_t value)
{
    char text[NUMBER_TEXT_SIZE];
    if (cell == CELL_TIME)
        table_add(table, number_time(value, text));
    else if (cell == CELL_COUNT)
        table_add(table, number_count(value, text));
    else
        table_add(table, number_percent(
                             value, (uint64_t)range_stats_totals(options->stats)->wall_ns, text));
}

/* One row of sums: over rows [first, end), and what is in none. */
struct sum_row {
    const char *label;
    uint64_t first, end;
    struct report_outside more;
};

/* Empty where sums say nothing. */
static void add_sum(const struct report_table_options *options, struct table *table,
                    const struct range_cell *cell, const struct rows *rows,
                    const struct sum_row *row)
{
    bool is_time = cell->column == RANGE_COLUMN_SELF || cell->column == RANGE_COLUMN_CPU_SELF;
    uint64_t sum = cell->column == RANGE_COLUMN_SELF       ? row->more.self_ns
                   : cell->column == RANGE_COLUMN_CPU_SELF ? row->more.cpu_self_ns
                                                           : 0;
    if (!cell->adds_up || (row->first == row->end && !is_time)) {
        table_add(table, "");
        return;
    }
    for (uint64_t i = row->first; i < row->end; i++)
        sum += range_stats_value(options->stats, rows->items[i], cell->column);
    add_range_cell(options, table, cell->cell, sum);
}

static void add_sum_row(const struct report_table_options *options, struct table *table,
                        const struct rows *rows, const bool *used, const struct sum_row *row)
{
    if (row->first == row->end && row->more.self_ns + row->more.cpu_self_ns == 0)
        return;
    table_add(table, row->label);
    for (size_t i = 0; i < RANGE_CELLS; i++) {
        if (used[i])
            add_sum(options, table, &range_cells[i], rows, row);
    }
}

/* The rows below the last one shown: what is in none of those, and the sums of all. */
static void add_sums(const struct report_table_options *options, struct table *table,
                     const struct rows *rows, enum range_kind kind, const bool *used)
{
    char text[NUMBER_TEXT_SIZE + 16], count[NUMBER_TEXT_SIZE];
    uint64_t end = rows->count + rows->hidden;
    struct sum_row more = {text, rows->shown, rows->count, {0}};
    struct sum_row imports = {"(imports)", rows->count, end, {0}};
    struct sum_row tracks = {"(on tracks)", 0, 0, {0}};
    struct sum_row inherited = {"(inherited)", 0, 0, {0}};
    struct sum_row unrecorded = {"(unrecorded)", 0, 0, {0}};
    struct sum_row outside = {"(outside)", 0, 0, {0}};
    struct sum_row sum = {"(sum)", 0, end, {0}};
    if (kind == RANGE_PUSHED) {
        tracks.more.cpu_self_ns = report_cpu_self_ns(options->stats, RANGE_TRACK);
        inherited.more.cpu_self_ns = report_cpu_self_ns(options->stats, RANGE_INHERITED);
        unrecorded.more.cpu_self_ns = report_cpu_self_ns(options->stats, RANGE_UNRECORDED);
        outside.more = report_outside(options->stats, options->cpu_ns);
        sum.more = outside.more;
        sum.more.cpu_self_ns +=
            tracks.more.cpu_self_ns + inherited.more.cpu_self_ns + unrecorded.more.cpu_self_ns;
    }
    snprintf(text, sizeof(text), "(%s more)", number_count(rows->count - rows->shown, count));
    const struct sum_row *const all[] = {&more,       &imports, &tracks, &inherited,
                                         &unrecorded, &outside, &sum};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        add_sum_row(options, table, rows, used, all[i]);
}

/* Whether samples can tell that number; true for all others. */
static bool is_known(const struct report_table_options *options, enum range_kind kind,
                     enum range_column column)
{
    switch (column) {
    case RANGE_COLUMN_CPU:
    case RANGE_COLUMN_CPU_SELF:
        return options->sampled && range_kind_has_cpu(kind);
    case RANGE_COLUMN_RUNNING:
    case RANGE_COLUMN_RUNNABLE:
    case RANGE_COLUMN_BLOCKED:
        return options->off_cpu && kind == RANGE_PUSHED;
    default:
        return kind < RANGE_INHERITED;
    }
}

/* Columns that say nothing here are left out: self of overlapping ranges, losses if none. */
static void choose_cells(const struct report_table_options *options, enum range_kind kind,
                         const struct rows *rows, bool *ret_used)
{
    for (size_t i = 0; i < RANGE_CELLS; i++) {
        enum range_column column = range_cells[i].column;
        bool rare = column == RANGE_COLUMN_UNFINISHED || column == RANGE_COLUMN_LOST;
        ret_used[i] = !rare && !(column == RANGE_COLUMN_SELF && kind == RANGE_OVERLAPPING) &&
                      is_known(options, kind, column);
        for (uint64_t row = 0; rare && row < rows->count && !ret_used[i]; row++)
            ret_used[i] = range_stats_value(options->stats, rows->items[row], column) > 0 &&
                          is_known(options, kind, column);
    }
}

static int print_table(const struct report_table_options *options, struct table *table,
                       const char *title)
{
    size_t hidden = 0;
    printf("\n%s\n", title);
    int rc = table_print(table, options->width, options->color, &hidden);
    if (hidden)
        printf("(%zu %s hidden: a wider terminal or --wide shows them)\n", hidden,
               hidden == 1 ? "column is" : "columns are");
    table_destroy(table);
    return rc;
}

static void add_cpu_cell(struct table *table, const struct range_row *row, uint64_t value)
{
    char text[NUMBER_TEXT_SIZE], rough[NUMBER_TEXT_SIZE + 1];
    snprintf(rough, sizeof(rough), "%s%s",
             range_row_is_rough(row) && value ? REPORT_FEW_MARK_TEXT : "",
             number_time(value, text));
    table_add(table, rough);
}

static void add_row(const struct report_table_options *options, struct table *table, uint32_t index,
                    const bool *used)
{
    const struct range_row *row = range_stats_row(options->stats, index);
    for (size_t i = 0; i < RANGE_CELLS; i++) {
        enum range_column column = range_cells[i].column;
        if (used[i] && is_untold(row, column))
            table_add(table, "-");
        else if (used[i] && (column == RANGE_COLUMN_CPU || column == RANGE_COLUMN_CPU_SELF))
            add_cpu_cell(table, row, range_stats_value(options->stats, index, column));
        else if (used[i])
            add_range_cell(options, table, range_cells[i].cell,
                           range_stats_value(options->stats, index, column));
    }
}

static int print_ranges(const struct report_table_options *options, enum range_kind kind,
                        const char *title)
{
    struct rows rows = {0};
    struct table_column columns[RANGE_CELLS + 1] = {{"range", 0, true}};
    bool used[RANGE_CELLS];
    size_t column_count = 1;
    int rc = rows_of(options, kind, &rows);
    if (rc < 0 || !rows.count)
        goto out;
    choose_cells(options, kind, &rows, used);
    for (size_t i = 0; i < RANGE_CELLS; i++) {
        if (used[i])
            columns[column_count++] =
                (struct table_column){range_cells[i].title, range_cells[i].rank, false};
    }
    struct table *table = table_create(columns, column_count);
    rc = table ? 0 : -ENOMEM;
    for (uint64_t row = 0; table && row < rows.shown; row++) {
        add_label(options, table, rows.items[row]);
        add_row(options, table, rows.items[row], used);
    }
    if (table) {
        add_sums(options, table, &rows, kind, used);
        rc = print_table(options, table, title);
    }
out:
    free(rows.items);
    return rc;
}

static const struct table_column mark_columns[] = {
    {"mark", 0, true}, {"count", 0, false}, {"procs", 2, false}, {"threads", 1, false}};

static void add_more_marks(const struct report_table_options *options, struct table *table,
                           const struct rows *rows)
{
    char text[NUMBER_TEXT_SIZE + 16], number[NUMBER_TEXT_SIZE];
    uint64_t count = 0;
    for (uint64_t i = rows->shown; i < rows->count; i++)
        count += range_stats_row(options->stats, rows->items[i])->count;
    snprintf(text, sizeof(text), "(%s more)", number_count(rows->count - rows->shown, number));
    table_add(table, text);
    table_add_count(table, count);
    table_add(table, "");
    table_add(table, "");
}

static void add_mark(struct table *table, const struct range_row *row)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_count(row->count, text));
    table_add(table, number_count(row->process_count, text));
    table_add(table, number_count(row->thread_count, text));
}

static const struct table_column counter_columns[] = {{"counter", 0, true}, {"count", 1, false},
                                                      {"last", 0, false},   {"min", 0, false},
                                                      {"mean", 0, false},   {"max", 0, false}};

static void add_counter(struct table *table, const struct range_row *row)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_count(row->count, text));
    table_add(table, number_value(row->value_last, text));
    table_add(table, number_value(row->value_min, text));
    table_add(table, number_value(row->value_sum / (double)row->count, text));
    table_add(table, number_value(row->value_max, text));
}

static int print_plain(const struct report_table_options *options, enum range_kind kind,
                       const char *title)
{
    struct report_table_options by_count = *options;
    struct rows rows = {0};
    char more[NUMBER_TEXT_SIZE];
    if (by_count.sort != RANGE_COLUMN_PATH)
        by_count.sort = RANGE_COLUMN_COUNT;
    int rc = rows_of(&by_count, kind, &rows);
    if (rc < 0 || !rows.count)
        goto out;
    struct table *table =
        kind == RANGE_MARK
            ? table_create(mark_columns, sizeof(mark_columns) / sizeof(*mark_columns))
            : table_create(counter_columns, sizeof(counter_columns) / sizeof(*counter_columns));
    rc = table ? 0 : -ENOMEM;
    for (uint64_t i = 0; table && i < rows.shown; i++) {
        add_label(options, table, rows.items[i]);
        if (kind == RANGE_MARK)
            add_mark(table, range_stats_row(options->stats, rows.items[i]));
        else
            add_counter(table, range_stats_row(options->stats, rows.items[i]));
    }
    if (table && kind == RANGE_MARK && rows.shown < rows.count)
        add_more_marks(options, table, &rows);
    if (table)
        rc = print_table(options, table, title);
    if (kind != RANGE_MARK && rows.shown < rows.count)
        printf("(%s more)\n", number_count(rows.count - rows.shown, more));
out:
    free(rows.items);
    return rc;
}

static bool has_rough_rows(const struct range_stats *stats)
{
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        if (range_kind_has_cpu(row->kind) && range_row_is_rough(row))
            return true;
    }
    return false;
}

int report_table_print(const struct report_table_options *options)
{
    int rc = print_ranges(options, RANGE_PUSHED, "ranges");
    if (rc == 0)
        rc = print_ranges(options, RANGE_OVERLAPPING, "overlapping ranges (start/end)");
    if (rc == 0)
        rc = print_ranges(options, RANGE_TRACK, "ranges on tracks");
    if (rc == 0)
        rc = print_ranges(options, RANGE_INHERITED,
                          "inherited ranges (open in the parent when a process was forked)");
    if (rc == 0)
        rc = print_ranges(options, RANGE_UNRECORDED, "ranges without a recorded beginning");
    if (rc == 0 && options->sampled && has_rough_rows(options->stats))
        report_few_print();
    if (rc == 0)
        rc = report_imports_print(options);
    if (rc == 0)
        rc = print_plain(options, RANGE_MARK, "marks");
    if (rc == 0)
        rc = print_plain(options, RANGE_COUNTER, "counters");
    return rc;
}
