/* SPDX-License-Identifier: MIT */
/* The table of lines that were counted. `annot report --source` shows the same as the source. */
#include "report_parts.h"

#include "code_owner.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

enum { SHOWN_PART = 1000 };

enum {
    LOCATION,
    HITS,
    TIME,
    SELF,
    SHARE,
    PER_HIT,
    NAME,
    SHOWN,
    FUNCTION,
    KIND,
    MODULE,
    FILE_PATH,
    LINE,
    FIRST_LINE,
    FUNCTION_HITS,
    FUNCTION_TIME,
    FUNCTION_SELF,
    OWNER,
    TEXT,
};

static const struct table_column columns[] = {
    [LOCATION] = {.name = "location", .title = "line", .type = COLUMN_TEXT},
    [HITS] = {.name = "hits", .title = "hits", .type = COLUMN_COUNT, .adds_up = true},
    [TIME] = {.name = "time_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    [SELF] = {.name = "self_ns", .title = "self", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SELF},
    [PER_HIT] = {.name = "per_hit_ns", .title = "per hit", .type = COLUMN_TIME, .rank = 1},
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT, .rank = 3},
    [SHOWN] = {.title = "source", .type = COLUMN_TEXT, .rank = 2, .fills = true},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [FILE_PATH] = {.name = "file", .type = COLUMN_TEXT},
    [LINE] = {.name = "line", .type = COLUMN_NUMBER},
    [FIRST_LINE] = {.name = "function_line", .type = COLUMN_NUMBER},
    [FUNCTION_HITS] = {.name = "function_hits", .type = COLUMN_COUNT},
    [FUNCTION_TIME] = {.name = "function_time_ns", .type = COLUMN_TIME},
    [FUNCTION_SELF] = {.name = "function_self_ns", .type = COLUMN_TIME},
    [OWNER] = {.name = "owner", .type = COLUMN_TEXT},
    [TEXT] = {.name = "text", .type = COLUMN_TEXT},
};

static const struct line_columns line_columns = {LOCATION, NAME,  FUNCTION, FILE_PATH,
                                                 LINE,     SHOWN, TEXT};

static void fill_place(const struct report *report, struct table_row *row,
                       const struct line_count *line)
{
    const struct label *label = stacks_get_label(trace_stacks_get(report->trace), line->label);
    report_line_cells(report, row, &line_columns, &(struct call_place){line->label, line->line});
    row_text(row, OWNER, code_owner_name(row->owner));
    row_number(row, FIRST_LINE, label->first_line);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const uint32_t *function_of = table->rows;
    const struct line_count_function *functions;
    const struct line_count *lines;
    line_counts_functions(report->line_counts, &functions);
    line_counts_lines(report->line_counts, &lines);
    const struct line_count *line = &lines[index];
    const struct line_count_function *function = &functions[function_of[index]];
    bool is_small = line->time_ns * SHOWN_PART < line_counts_self_ns(report->line_counts);
    row->role = is_small ? ROW_MINOR : ROW_PLAIN;
    if (!row->sums_only)
        fill_place(report, row, line);
    row_count(row, HITS, line->hits);
    row_count(row, TIME, line->time_ns);
    row_count(row, SELF, line_count_self_ns(line));
    row_count(row, PER_HIT, line->hits ? line->time_ns / line->hits : 0);
    row_count(row, FUNCTION_HITS, function->hits);
    row_count(row, FUNCTION_TIME, function->time_ns);
    row_count(row, FUNCTION_SELF, function->self_ns);
}

int report_begin_line_counts(struct report *report)
{
    if (!line_counts_any(report->trace))
        return 0;
    report->line_counts = line_counts_create(report->trace);
    return report->line_counts ? 0 : -ENOMEM;
}

/* `rows` of the table: of each line the index of its function. */
static int find_functions(const struct report *report, struct table *table)
{
    const struct line_count_function *functions;
    const struct line_count *lines;
    uint32_t count = line_counts_functions(report->line_counts, &functions);
    table->row_count = line_counts_lines(report->line_counts, &lines);
    uint32_t *function_of = calloc(table->row_count + 1, sizeof(*function_of));
    if (!function_of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = 0; at < functions[i].count; at++)
            function_of[functions[i].begin + at] = i;
    table->rows = function_of;
    return 0;
}

int report_add_line_counts(struct report *report)
{
    struct table *table = report_add_table(report, "line_counts", fill);
    for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->limit = report->options.functions;
    table->brief = true;
    if (!report->line_counts)
        return 0;
    if (!line_counts_have_callees(report->line_counts))
        table->columns[SELF].title = NULL; /* the same as the time */
    table->columns[SHARE].whole = line_counts_self_ns(report->line_counts);
    int rc = find_functions(report, table);
    return rc ? rc : report_plain_title(table, "Lines that were counted (exact: no samples)");
}

const struct line_counts *report_line_counts(const struct report *report)
{
    return report->line_counts;
}
