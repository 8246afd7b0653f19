/* SPDX-License-Identifier: MIT */
/* The table of lines: the hottest, with their text. */
#include "report_parts.h"

#include "code_owner.h"
#include "stacks.h"
#include "text.h"

/* People have a terminal of some width, and see where a longer line begins. */
enum { SHOWN_BYTES = 60 };

enum {
    NAME,
    LOCATION,
    FUNCTION,
    KIND,
    MODULE,
    FILE_PATH,
    LINE,
    SELF,
    SHARE,
    TOTAL,
    WAITING,
    HITS,
    WAITS,
    TEXT,
    SHOWN
};

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "line", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [FILE_PATH] = {.name = "file", .type = COLUMN_TEXT},
    [LINE] = {.name = "line", .type = COLUMN_NUMBER},
    [SELF] = {.name = "cpu_self_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SELF},
    [TOTAL] = {.name = "cpu_total_ns", .title = "total", .type = COLUMN_TIME, .rank = 2},
    [WAITING] =
        {.name = "waiting_ns", .title = "waits", .type = COLUMN_TIME, .rank = 3, .adds_up = true},
    [HITS] =
        {.name = "sample_count", .title = "hits", .type = COLUMN_COUNT, .rank = 4, .adds_up = true},
    [WAITS] = {.name = "wait_count", .type = COLUMN_COUNT, .adds_up = true},
    [TEXT] = {.name = "text", .type = COLUMN_TEXT},
    [SHOWN] = {.title = "source", .type = COLUMN_TEXT, .rank = 1},
};

/* In place of those of CPU time. */
static const char *const value_names[sizeof(columns) / sizeof(*columns)] = {
    [SELF] = "value_self", [TOTAL] = "value_total"};

/* Without what it is indented by, and as far as there is room. */
static void fill_text(struct table_row *row, unsigned column, const char *line, size_t length)
{
    size_t size, indent = 0;
    char *room = row_room(row, &size);
    while (indent < length && (line[indent] == ' ' || line[indent] == '\t'))
        indent++;
    struct text text = text_init(room, size);
    text_add(&text, line + indent, length - indent);
    row_take(row, column, text.length);
}

static void fill_place(const struct report *report, struct table_row *row,
                       const struct line_row *line)
{
    const struct trace *trace = report->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t source = stacks_get_label(stacks, line->label)->source;
    const char *text;
    report_name_cells(report, row, NAME, &(struct call_place){line->label, line->line});
    report_function_cells(report, row, FUNCTION, line->label);
    row_text(row, FILE_PATH, trace_string(trace, stacks_get_source(stacks, source)->path)->bytes);
    size_t length = source_line(report->texts, source, (uint32_t)line->line, &text);
    fill_text(row, TEXT, text, length);
    fill_text(row, SHOWN, text, utf8_cut(text, length, SHOWN_BYTES));
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct line_row *lines;
    line_stats_rows(report->samples.lines, &lines);
    const struct line_row *line = &lines[index];
    if (line->label == 0) {
        row->role = ROW_REST;
        row->rest = "no stack";
        row_text(row, KIND, "none");
    } else if (!row->sums_only) {
        fill_place(report, row, line);
        row_number(row, LINE, line->line);
    }
    row_count(row, SELF, line->sums.self_ns);
    row_count(row, TOTAL, line->sums.total_ns);
    row_count(row, WAITING, line->sums.waiting_ns);
    row_count(row, HITS, line->sums.count);
    row_count(row, WAITS, line->sums.waits);
}

int report_add_lines(struct report *report)
{
    const struct line_row *rows;
    if (!report->options.lines)
        return 0;
    struct table *table = report_add_table(report, "lines", fill);
    table->limit = report->options.functions;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, report_value_column(report, columns[i], value_names[i]));
    if (!report->samples.present)
        return 0;
    table->columns[SHARE].whole = line_stats_totals(report->samples.lines)->self_ns;
    table->row_count = line_stats_rows(report->samples.lines, &rows);
    return report_title(report, table, "hottest lines, with what native code does for them");
}

const struct line_stats *report_lines(const struct report *report)
{
    return report->samples.lines;
}

struct source_texts *report_texts(const struct report *report)
{
    return report->texts;
}
