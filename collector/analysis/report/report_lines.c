/* SPDX-License-Identifier: MIT */
/* The table of lines: the hottest of own code, including libraries called there, and their text.
 * For readers, the lines of libraries are one row; programs get all of them. */
#include "report_lines.h"

#include "code_owner.h"
#include "report_build.h"
#include "report_functions.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Width of a terminal: readers see the start of a longer line. Part (1/500) of the time from which
 * a line has its own row. */
enum { SHOWN_BYTES = 100, SHOWN_PART = 500, READY_PART = 50 };

enum {
    LOCATION,
    OWN_TIME,
    OWN_SHARE,
    OWN_CPU,
    OWN_RUNNABLE,
    OWN_BLOCKED,
    SELF,
    SHARE,
    TOTAL,
    BLOCKED,
    OWN_HITS,
    NAME,
    SHOWN,
    FUNCTION,
    KIND,
    MODULE,
    FILE_PATH,
    LINE,
    HITS,
    WAITS,
    TEXT,
};

static const struct table_column columns[] = {
    [LOCATION] = {.name = "location", .title = "line", .type = COLUMN_TEXT},
    [OWN_TIME] = {.name = "own_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    [OWN_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = OWN_TIME},
    [OWN_CPU] = {.name = "own_cpu_ns", .title = "CPU", .type = COLUMN_TIME, .adds_up = true},
    [OWN_RUNNABLE] = {.name = "own_runnable_ns",
                      .title = "runnable",
                      .type = COLUMN_TIME,
                      .rank = 3,
                      .adds_up = true},
    [OWN_BLOCKED] = {.name = "own_blocked_ns",
                     .title = "blocked",
                     .type = COLUMN_TIME,
                     .rank = 1,
                     .adds_up = true,
                     .rare = true},
    [SELF] = {.name = "cpu_self_ns", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.type = COLUMN_SHARE, .of = SELF},
    [TOTAL] = {.name = "cpu_total_ns", .type = COLUMN_TIME, .rank = 2},
    [BLOCKED] = {.name = "blocked_ns", .type = COLUMN_TIME, .adds_up = true},
    [OWN_HITS] = {.name = "own_sample_count",
                  .title = "samples",
                  .type = COLUMN_COUNT,
                  .rank = 5,
                  .adds_up = true},
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT, .rank = 4},
    [SHOWN] = {.title = "source", .type = COLUMN_TEXT, .rank = 2, .fills = true},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [FILE_PATH] = {.name = "file", .type = COLUMN_TEXT},
    [LINE] = {.name = "line", .type = COLUMN_NUMBER},
    [HITS] = {.name = "sample_count", .type = COLUMN_COUNT, .adds_up = true},
    [WAITS] = {.name = "wait_count", .type = COLUMN_COUNT, .adds_up = true},
    [TEXT] = {.name = "text", .type = COLUMN_TEXT},
};

static const struct line_columns line_columns = {LOCATION, NAME,  FUNCTION, FILE_PATH,
                                                 LINE,     SHOWN, TEXT};

/* Names for values other than CPU time. */
static const char *const value_names[sizeof(columns) / sizeof(*columns)] = {
    [SELF] = "value_self", [TOTAL] = "value_total"};

/* Adds the text without its indentation, cut to the available space. */
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

static void report_line_cells(const struct report *report, struct table_row *row,
                              const struct line_columns *at, const struct call_place *place)
{
    const struct trace *trace = report->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t source = stacks_get_label(stacks, place->label)->source;
    const char *text;
    size_t size;
    char *room = row_room(row, &size);
    row_take(row, at->location, code_location(trace, place->label, place->line, room, size));
    room = row_room(row, &size);
    row_take(row, at->name, code_name(trace, place->label, room, size));
    row->owner = (uint8_t)code_owner_of(trace, place->label);
    report_function_cells(report, row, at->function, place->label);
    row_text(row, at->file, trace_string(trace, stacks_get_source(stacks, source)->path)->bytes);
    row_number(row, at->line, place->line);
    size_t length = source_line(report->texts, source, (uint32_t)place->line, &text);
    fill_text(row, at->text, text, length);
    fill_text(row, at->shown, text, utf8_cut(text, length, SHOWN_BYTES));
}

/* With a chosen value, all rows are plain. */
static enum row_role role_of(const struct report *report, const struct table *table,
                             const struct line_row *line)
{
    uint64_t time_ns = line_time_ns(&line->own, report->samples.with_waits);
    if (report->options.value)
        return line->sums.self_ns > 0 ? ROW_PLAIN : ROW_MINOR;
    if (!line->is_own)
        return time_ns + line->own.blocked_ns > 0 ? ROW_APART : ROW_MINOR;
    if (!report->samples.with_waits)
        time_ns += line->own.blocked_ns;
    return time_ns > 0 && time_ns * SHOWN_PART >= table->columns[OWN_SHARE].whole ? ROW_PLAIN
                                                                                  : ROW_MINOR;
}

/* 0 is not shown. */
static void fill_number(struct table_row *row, unsigned column, uint64_t number)
{
    row_count(row, column, number);
    row->cells[column].quiet = number == 0;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct line_row *lines;
    line_stats_rows(report->samples.lines, &lines);
    const struct line_row *line = &lines[index];
    row->role = (uint8_t)role_of(report, table, line);
    if (line->label == 0) {
        row->role = ROW_REST;
        row->rest = "no stack";
        row_text(row, KIND, "none");
    } else if (!row->sums_only) {
        report_line_cells(report, row, &line_columns,
                          &(struct call_place){line->label, line->line});
    }
    row_count(row, OWN_TIME, line_time_ns(&line->own, report->samples.with_waits));
    fill_number(row, OWN_CPU, line->own.cpu_ns);
    fill_number(row, OWN_RUNNABLE, line->own.runnable_ns);
    fill_number(row, OWN_BLOCKED, line->own.blocked_ns);
    fill_number(row, OWN_HITS, line->own.sample_count);
    row_count(row, SELF, line->sums.self_ns);
    row_count(row, TOTAL, line->sums.total_ns);
    row_count(row, BLOCKED, line->sums.blocked_ns);
    row_count(row, HITS, line->sums.count);
    row_count(row, WAITS, line->sums.waits);
}

/* As on the first screen: the wall time, or the time of threads if that is more. */
uint64_t report_lines_whole(const struct report *report)
{
    const struct own_totals *totals = own_time_totals(report->samples.own);
    uint64_t sum_ns = totals->cpu_ns;
    if (report->samples.with_waits)
        sum_ns += totals->runnable_ns + totals->blocked_ns;
    if (!report->samples.by_wall)
        return sum_ns;
    const struct wall_totals *wall = wall_totals(report->samples.wall);
    return sum_ns + wall->short_ns > wall->wall_ns ? sum_ns + wall->short_ns : wall->wall_ns;
}

/* Returns the title of a column that readers see: with a chosen value its columns; otherwise times
 * of own code, and ready time if there is much. */
static const char *title_of(const struct report *report, unsigned column)
{
    static const char *const of_value[sizeof(columns) / sizeof(*columns)] = {
        [SELF] = "self", [SHARE] = "%", [TOTAL] = "total"};
    const struct own_totals *totals = own_time_totals(report->samples.own);
    bool with_waits = report->samples.with_waits;
    if (report->options.value && column >= OWN_TIME && column <= OWN_HITS)
        return of_value[column];
    if (column == OWN_TIME && !with_waits)
        return "CPU";
    if (column == OWN_CPU && !with_waits)
        return NULL;
    bool much = totals->runnable_ns * READY_PART > report_lines_whole(report);
    if (column == OWN_RUNNABLE && !(much && with_waits))
        return NULL;
    return columns[column].title;
}

static int add_title(const struct report *report, struct table *table)
{
    static const char *const whose[OWN_LEVELS] = {
        "Hottest lines of own code, with what libraries do for them",
        "Hottest lines of installed packages, with what they call",
        "Hottest lines of Python code, with what it calls",
        "Hottest lines, with what they call",
    };
    char title[512];
    if (report->options.value) {
        snprintf(title, sizeof(title), "Lines by %s, with what native code does for them",
                 report->options.value);
        return report_title(report, table, title);
    }
    snprintf(title, sizeof(title), "%s (%s)", whose[own_time_totals(report->samples.own)->level],
             report->samples.by_wall      ? "wall time"
             : report->samples.with_waits ? "time of threads"
                                          : "CPU time");
    return report_title(report, table, title);
}

static int add_lines(struct report *report)
{
    const struct line_row *rows;
    if (!report->options.lines)
        return 0;
    struct table *table = report_add_table(report, "lines", fill);
    table->limit = report->options.functions;
    table->apart = "(imports, other code)";
    table->brief = true;
    for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        struct table_column column = report_value_column(report, columns[i], value_names[i]);
        if (report->samples.present)
            column.title = title_of(report, i);
        table_add_column(table, column);
    }
    if (!report->samples.present)
        return 0;
    table->columns[SHARE].whole = line_stats_totals(report->samples.lines)->self_ns;
    table->columns[OWN_SHARE].whole = report_lines_whole(report);
    table->row_count = line_stats_rows(report->samples.lines, &rows);
    return add_title(report, table);
}

static int create(struct report *report)
{
    report->texts = source_texts_create(report->trace);
    return report->texts ? 0 : -ENOMEM;
}

static void destroy(struct report *report)
{
    source_texts_destroy(report->texts);
}

const struct report_part report_part_lines = {
    .create = create, .add_tables = add_lines, .destroy = destroy};

const struct line_stats *report_lines(const struct report *report)
{
    return report->samples.lines;
}

struct source_texts *report_texts(const struct report *report)
{
    return report->texts;
}

/* ---- Counted lines --------------------------------------------------------------------------- */

/* The table of counted lines. `annot report --source` shows the same within the source. */

enum { COUNTED_SHOWN_PART = 1000 };

enum {
    COUNTED_LOCATION,
    COUNTED_HITS,
    TIME,
    COUNTED_SELF,
    COUNTED_SHARE,
    PER_HIT,
    COUNTED_NAME,
    COUNTED_SHOWN,
    COUNTED_FUNCTION,
    COUNTED_KIND,
    COUNTED_MODULE,
    COUNTED_FILE_PATH,
    COUNTED_LINE,
    FIRST_LINE,
    FUNCTION_HITS,
    FUNCTION_TIME,
    FUNCTION_SELF,
    OWNER,
    COUNTED_TEXT,
};

static const struct table_column columns_counted[] = {
    [COUNTED_LOCATION] = {.name = "location", .title = "line", .type = COLUMN_TEXT},
    [COUNTED_HITS] = {.name = "hits", .title = "hits", .type = COLUMN_COUNT, .adds_up = true},
    [TIME] = {.name = "total_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    [COUNTED_SELF] =
        {.name = "self_ns", .title = "self", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [COUNTED_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = COUNTED_SELF},
    [PER_HIT] = {.name = "per_hit_ns", .title = "per hit", .type = COLUMN_TIME, .rank = 1},
    [COUNTED_NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT, .rank = 3},
    [COUNTED_SHOWN] = {.title = "source", .type = COLUMN_TEXT, .rank = 2, .fills = true},
    [COUNTED_FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [COUNTED_KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [COUNTED_MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [COUNTED_FILE_PATH] = {.name = "file", .type = COLUMN_TEXT},
    [COUNTED_LINE] = {.name = "line", .type = COLUMN_NUMBER},
    [FIRST_LINE] = {.name = "function_line", .type = COLUMN_NUMBER},
    [FUNCTION_HITS] = {.name = "function_hits", .type = COLUMN_COUNT},
    [FUNCTION_TIME] = {.name = "function_total_ns", .type = COLUMN_TIME},
    [FUNCTION_SELF] = {.name = "function_self_ns", .type = COLUMN_TIME},
    [OWNER] = {.name = "owner", .type = COLUMN_TEXT},
    [COUNTED_TEXT] = {.name = "text", .type = COLUMN_TEXT},
};

static const struct line_columns counted_line_columns = {
    COUNTED_LOCATION, COUNTED_NAME,  COUNTED_FUNCTION, COUNTED_FILE_PATH,
    COUNTED_LINE,     COUNTED_SHOWN, COUNTED_TEXT};

static void fill_place(const struct report *report, struct table_row *row,
                       const struct line_count *line)
{
    const struct label *label = stacks_get_label(trace_stacks_get(report->trace), line->label);
    report_line_cells(report, row, &counted_line_columns,
                      &(struct call_place){line->label, line->line});
    row_text(row, OWNER, code_owner_name(row->owner));
    row_number(row, FIRST_LINE, label->first_line);
}

static void fill_counted(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const uint32_t *function_of = table->rows;
    const struct line_count_function *functions;
    const struct line_count *lines;
    line_counts_functions(report->line_counts, &functions);
    line_counts_lines(report->line_counts, &lines);
    const struct line_count *line = &lines[index];
    const struct line_count_function *function = &functions[function_of[index]];
    bool is_small = line->time_ns * COUNTED_SHOWN_PART < line_counts_self_ns(report->line_counts);
    row->role = is_small ? ROW_MINOR : ROW_PLAIN;
    if (!row->sums_only)
        fill_place(report, row, line);
    row_count(row, COUNTED_HITS, line->hits);
    row_count(row, TIME, line->time_ns);
    row_count(row, COUNTED_SELF, line_count_self_ns(line));
    row_count(row, PER_HIT, line->hits ? line->time_ns / line->hits : 0);
    row_count(row, FUNCTION_HITS, function->hits);
    row_count(row, FUNCTION_TIME, function->time_ns);
    row_count(row, FUNCTION_SELF, function->self_ns);
}

/* Only if the recording has line counts, as their sink has a cost. */
static int create_counts(struct report *report)
{
    if (!line_counts_any(report->trace))
        return 0;
    report->line_counts = line_counts_create(report->trace);
    return report->line_counts ? 0 : -ENOMEM;
}

/* `rows` of the table: the index of each line's function. */
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

static int add_line_counts(struct report *report)
{
    struct table *table = report_add_table(report, "line_counts", fill_counted);
    for (unsigned i = 0; i < sizeof(columns_counted) / sizeof(*columns_counted); i++)
        table_add_column(table, columns_counted[i]);
    table->limit = report->options.functions;
    table->brief = true;
    if (!report->line_counts)
        return 0;
    if (!line_counts_have_callees(report->line_counts))
        table->columns[COUNTED_SELF].title = NULL; /* the same as the time */
    table->columns[COUNTED_SHARE].whole = line_counts_self_ns(report->line_counts);
    int rc = find_functions(report, table);
    return rc ? rc : report_plain_title(table, "Lines that were counted (exact: no samples)");
}

static struct sink sink_of_counts(const struct report *report)
{
    return report->line_counts ? line_counts_sink(report->line_counts) : (struct sink){0};
}

static int finish_counts(struct report *report)
{
    return report->line_counts ? line_counts_finish(report->line_counts) : 0;
}

static void destroy_counts(struct report *report)
{
    line_counts_destroy(report->line_counts);
}

const struct report_part report_part_line_counts = {.create = create_counts,
                                                    .sink = sink_of_counts,
                                                    .finish = finish_counts,
                                                    .add_tables = add_line_counts,
                                                    .destroy = destroy_counts};

const struct line_counts *report_line_counts(const struct report *report)
{
    return report->line_counts;
}
