/* SPDX-License-Identifier: MIT */
/* Tables of a report's first screen: ranges, tasks, imports, each with its most relevant
 * columns. */

#include "report_text.h"
#include "screen.h"
#include "screen_functions.h"
#include "term.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The short tables --------------------------------------------------------------------------
 */

struct short_column {
    const char *name, *title;
};

struct short_table {
    const char *name, *title, *label;
    bool observed;      /* includes rows of observers */
    bool unlike;        /* shown only if its rows differ */
    unsigned wall_part; /* shown from this fraction of the wall time on; 0: always */
    struct short_column columns[7];
    const char *size;        /* column that orders the rows; NULL: time, else count */
    const char *optional[3]; /* columns hidden to make room for names, in this order */
};

/* In their order. */
static const struct short_table short_tables[] = {
    {"ranges",
     "Ranges",
     "path",
     false,
     false,
     0,
     {{"count", "count"},
      {"total_ns", "total"},
      {"cpu_ns", "CPU"},
      {"runnable_ns", "runnable"},
      {"blocked_ns", "blocked"},
      {"p50_ns", "p50"},
      {"max_ns", "max"}},
     NULL,
     {"runnable_ns", "p50_ns", "max_ns"}},
    {"gpu_kernels",
     "Kernels of GPUs",
     "short_name",
     true,
     false,
     0,
     {{"count", "count"},
      {"total_ns", "total"},
      {"min_ns", "min"},
      {"p50_ns", "p50"},
      {"p95_ns", "p95"},
      {"max_ns", "max"}},
     NULL,
     {"min_ns", "max_ns", "p95_ns"}},
    {"gpu_operations",
     "Copies and other operations of GPUs",
     "name",
     true,
     false,
     0,
     {{"count", "count"},
      {"total_ns", "total"},
      {"bytes", "bytes"},
      {"gb_per_s", "GB/s"},
      {"p50_ns", "p50"},
      {"max_ns", "max"}},
     NULL,
     {"p50_ns", "max_ns"}},
    {"gpu_ranges",
     "GPU time by the ranges that launched it",
     "path",
     true,
     false,
     0,
     {{"total_ns", "total"},
      {"launched", "launches"},
      {"gpu_ns", "GPU"},
      {"idle_ns", "GPU idle"},
      {"starved_ns", "starved"},
      {"delay_p50_ns", "delay"}},
     "gpu_ns",
     {"delay_p50_ns", "starved_ns", "launched"}},
    {"gpu_captures",
     "GPU time of graphs by the ranges that captured them",
     "captured_in",
     true,
     false,
     0,
     {{"count", "count"}, {"gpu_ns", "GPU"}, {"mean_ns", "mean"}},
     NULL,
     {"mean_ns"}},
    {"memory",
     "Memory: held at the peak and at the end, allocated, freed within 10 ms",
     "label",
     true,
     false,
     0,
     {{"peak_bytes", "at peak"},
      {"peak_deviation_bytes", "\u00b1"},
      {"held_bytes", "held"},
      {"allocated_bytes", "allocated"},
      {"temporary_bytes", "temporary"},
      {"block_count", "blocks"}},
     "peak_bytes",
     {"block_count", "temporary_bytes", "peak_deviation_bytes"}},
    {"track_ranges",
     "Tasks and requests",
     "path",
     true,
     false,
     SCREEN_PART,
     {{"count", "count"},
      {"total_ns", "total"},
      {"cpu_ns", "CPU"},
      {"p50_ns", "p50"},
      {"p99_ns", "p99"},
      {"max_ns", "max"}},
     NULL,
     {"p50_ns", "max_ns", "cpu_ns"}},
    {"overlapping_ranges",
     "Overlapping ranges",
     "path",
     false,
     false,
     0,
     {{"count", "count"},
      {"total_ns", "total"},
      {"p50_ns", "p50"},
      {"p99_ns", "p99"},
      {"max_ns", "max"}},
     NULL,
     {NULL}},
    {"pools",
     "Pools: busy, or idle before the first task, between tasks, after the last",
     "pool",
     true,
     false,
     SCREEN_PART,
     {{"size", "workers"},
      {"task_count", "tasks"},
      {"wall_ns", "wall"},
      {"busy_ns", "busy"},
      {"idle_before_ns", "before"},
      {"idle_between_ns", "between"},
      {"idle_after_ns", "after"}},
     NULL,
     {"size", "wall_ns", "task_count"}},
    {"pool_workers",
     "Workers of pools: busy, or idle before their first task, between, after",
     "worker",
     true,
     true,
     SCREEN_PART,
     {{"task_count", "tasks"},
      {"worker_ns", "alive"},
      {"busy_ns", "busy"},
      {"cpu_ns", "CPU"},
      {"idle_before_ns", "before"},
      {"idle_between_ns", "between"},
      {"idle_after_ns", "after"}},
     NULL,
     {"cpu_ns", "worker_ns", "idle_between_ns"}},
    {"tasks",
     "Tasks of pools, from submission to result: how long each part took",
     "function",
     true,
     false,
     0,
     {{"count", "tasks"},
      {"mean_ns", "mean"},
      {"p50_ns", "p50"},
      {"max_ns", "max"},
      {"cpu_ns", "CPU"}},
     NULL,
     {"p50_ns", "max_ns"}},
    {"imports",
     "Imports",
     "module",
     true,
     false,
     SCREEN_PART,
     {{"count", "count"}, {"total_ns", "total"}, {"self_ns", "self"}},
     "self_ns",
     {NULL}},
    {"marks", "Marks", "name", false, false, 0, {{"count", "count"}}, NULL, {NULL}},
    {"counters",
     "Counters",
     "name",
     false,
     false,
     0,
     {{"count", "count"},
      {"value_last", "last"},
      {"value_min", "min"},
      {"value_mean", "mean"},
      {"value_max", "max"}},
     NULL,
     {NULL}},
    {0},
};

/* ---- Rows with paths ------------------------------------------------------------------------- */

/* A row with a path as label is placed below the nearest row that contains it, and shows only the
 * rest of its path. */

#define SCREEN_LINE_ALONE UINT64_MAX

struct screen_line {
    uint64_t index; /* of the table's row; SCREEN_LINE_ALONE: a label without a row */
    char *path;
    char *label; /* the end of the path */
    uint32_t depth;
    uint64_t inherited_ns; /* CPU time that other threads and processes spent inside it */
};

struct screen_lines { /* a vec.h */
    struct screen_line *items;
    size_t count, capacity;
};

/* Nesting compares all pairs of rows; larger tables are not nested. */
enum { NEST_MAX = 256, INDENT = 2, DEPTH_MAX = 5 };

/* 0 or -ENOMEM; the label is copied. */
static int screen_lines_add(struct screen_lines *lines, uint64_t index, const char *label)
{
    char *path = strdup(label);
    if (!path || vec_push(lines, ((struct screen_line){.index = index, .path = path})) != 0) {
        free(path);
        return -ENOMEM;
    }
    lines->items[lines->count - 1].label = path;
    return 0;
}

static void screen_lines_free(struct screen_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->items[i].path);
    vec_free(lines);
}

/* Adds CPU time of other threads and processes to the line of a path, if it exists. */
static void screen_lines_inherit(struct screen_lines *lines, const char *path, uint64_t cpu_ns)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->items[i].path, path) == 0)
            lines->items[i].inherited_ns += cpu_ns;
}

/* Removes the domain of observers' names, which is irrelevant to readers. */
static void take_domain_off(char *label)
{
    static const char domain[] = "python:";
    const size_t size = sizeof(domain) - 1;
    char *to = label;
    for (bool first = true; *label; first = *to++ == '/') {
        if (first && strncmp(label, domain, size) == 0 && label[size])
            label += size;
        *to = *label++;
    }
    *to = 0;
}

/* Call last: removes the observers' domain from labels, which ends the use of paths. */
static void screen_lines_shorten(struct screen_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        take_domain_off(lines->items[i].label);
}

static unsigned screen_line_indent(const struct screen_line *line)
{
    return line->depth * INDENT;
}

/* Length of the prefix of the path that `around` covers; 0: outside of it. */
static size_t part_inside(const struct screen_line *line, const struct screen_line *around)
{
    size_t size = strlen(around->path);
    bool inside = strncmp(line->path, around->path, size) == 0 && line->path[size] == '/';
    return inside && line->path[size + 1] ? size + 1 : 0;
}

/* The nearest row that contains a row; lines->count: none. */
static size_t find_around(const struct screen_lines *lines, size_t at)
{
    size_t around = lines->count, longest = 0;
    for (size_t i = 0; i < lines->count; i++) {
        size_t part = part_inside(&lines->items[at], &lines->items[i]);
        if (part > longest) {
            longest = part;
            around = i;
        }
    }
    return around;
}

struct nesting {
    const struct screen_lines *lines;
    const size_t *around;
    struct screen_line *placed;
    size_t placed_count;
};

/* Places the rows inside `around`, each followed by the rows inside it, in their previous order.
 * `part`: length of the enclosing path in theirs. Beyond DEPTH_MAX, the indentation stays. */
static void place(struct nesting *nesting, size_t around, uint32_t depth, size_t part)
{
    const struct screen_lines *lines = nesting->lines;
    for (size_t i = 0; i < lines->count; i++) {
        if (nesting->around[i] != around)
            continue;
        struct screen_line *line = &nesting->placed[nesting->placed_count++];
        *line = lines->items[i];
        line->label = line->path + part;
        line->depth = depth;
        if (depth < DEPTH_MAX)
            place(nesting, i, depth + 1, strlen(line->path) + 1);
        else
            place(nesting, i, depth, part);
    }
}

/* Places each row after the nearest one that contains its path, and labels it with the rest. 0 or
 * -ENOMEM. */
static int screen_lines_nest(struct screen_lines *lines)
{
    size_t count = lines->count, around[NEST_MAX];
    if (count == 0 || count > NEST_MAX)
        return 0;
    struct nesting nesting = {lines, around, calloc(count, sizeof(*nesting.placed)), 0};
    if (!nesting.placed)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        around[i] = find_around(lines, i);
    place(&nesting, count, 0, 0);
    memcpy(lines->items, nesting.placed, count * sizeof(*lines->items));
    free(nesting.placed);
    return 0;
}

/* ---- Tables of the report -------------------------------------------------------------------- */

static int find_column(const struct table *table, const char *name)
{
    for (unsigned i = 0; i < table->column_count; i++)
        if (table->columns[i].name && strcmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* 0: unknown column. */
static uint64_t column_bit(const struct table *table, const char *name)
{
    int at = find_column(table, name);
    return at >= 0 ? TABLE_COLUMN(at) : 0;
}

static uint64_t cell_count(const struct table *table, const struct table_row *row, const char *name)
{
    int at = find_column(table, name);
    return at >= 0 && row->cells[at].state == CELL_KNOWN ? row->cells[at].count : 0;
}

static const char *cell_text(const struct table *table, const struct table_row *row,
                             const char *name)
{
    int at = find_column(table, name);
    return at >= 0 && row->cells[at].state == CELL_KNOWN ? row->cells[at].text : "";
}

/* ---- Findings -------------------------------------------------------------------------------- */

enum { FINDING_INDENT = 8 };

static void put_finding(const struct screen *screen, const struct table *table,
                        const struct table_row *row)
{
    static const char *const more[] = {"evidence", "advice"};
    char share[NUMBER_TEXT_SIZE];
    fprintf(screen->out, " %6s ",
            number_share(cell_count(table, row, "cost"), cell_count(table, row, "whole"), share));
    screen_put_wrapped(screen, STYLE_PLAIN, cell_text(table, row, "finding"), FINDING_INDENT);
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
        const char *text = cell_text(table, row, more[i]);
        if (*text) {
            fprintf(screen->out, "%*s", FINDING_INDENT, "");
            screen_put_wrapped(screen, i ? STYLE_DIM : STYLE_PLAIN, text, FINDING_INDENT);
        }
    }
}

int screen_findings(const struct screen *screen)
{
    const struct table *table = report_find(screen->report, "findings");
    if (!table || table->row_count == 0)
        return 0;
    struct table_row *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    screen_title(screen, "Findings");
    for (uint64_t i = 0; i < table->row_count && i < screen->rows.findings; i++) {
        table_row(table, i, row);
        put_finding(screen, table, row);
    }
    free(row);
    return 0;
}

/* ---- Short tables ---------------------------------------------------------------------------- */

/* The visible rows: those of the program itself, or all; ordered by time, else by count. */
struct order {
    uint64_t size, index;
};

static int largest_first(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static const char *size_of(const struct short_table *spec, const struct table *table)
{
    static const char *const times[] = {"total_ns", "wall_ns", "worker_ns"};
    if (spec->size)
        return spec->size;
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        if (find_column(table, times[i]) >= 0)
            return times[i];
    return "count";
}

/* Ranges of annot itself are irrelevant to users. */
static bool is_annot(const char *label)
{
    return strncmp(label, "pyannot", strlen("pyannot")) == 0;
}

/* The column of names; a table may have a separate one for display. */
static const char *label_of(const struct short_table *spec, const struct table *table)
{
    return find_column(table, "label") >= 0 ? "label" : spec->label;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t find_order(const struct short_table *spec, const struct table *table,
                           struct table_row *row, struct order *order)
{
    const char *size = size_of(spec, table);
    const char *held = "held_bytes"; /* of memory: the larger of peak and end counts */
    uint64_t count = 0, columns = column_bit(table, size) | column_bit(table, spec->label) |
                                  column_bit(table, held);
    for (uint64_t i = 0; i < table->row_count; i++) {
        table_cells(table, i, columns, row);
        if (row->role == ROW_PLAIN && (spec->observed || !row->observed) &&
            !is_annot(cell_text(table, row, label_of(spec, table))))
            order[count++] = (struct order){
                larger(cell_count(table, row, size), cell_count(table, row, held)), i};
    }
    if (count > 0)
        qsort(order, count, sizeof(*order), largest_first);
    return count;
}

/* "400 MiB", "40.5 MiB": fits its column with a leading blank. */
static const char *size_text(uint64_t bytes, char *text)
{
    char *point = strchr(number_size(bytes, text), '.');
    if (point && point - text >= 3 && point[1])
        memmove(point, point + 2, strlen(point + 2) + 1);
    return text;
}

static const char *cell_number(const struct table_column *column, const struct cell *cell,
                               char *text)
{
    if (cell->state != CELL_KNOWN)
        return "-";
    if (column->type == COLUMN_VALUE)
        return number_value(cell->value, text);
    if (column->type == COLUMN_BYTES)
        return size_text(cell->count, text);
    return column->type == COLUMN_TIME ? number_time_short(cell->count, text)
                                       : number_count(cell->count, text);
}

enum {
    COLUMNS_MAX = sizeof(((struct short_table *)0)->columns) / sizeof(struct short_column),
    COLUMN_WIDTH = 9, /* at least */
    ALIKE_PART = 5,   /* 1 / ALIKE_PART of the busiest worker's time */
};

/* A short table under construction. */
struct short_view {
    const struct screen *screen;
    const struct short_table *spec;
    const struct table *table;
    struct table_row *row; /* buffer for one row */
    struct screen_lines lines;
    size_t names; /* width of the names */
    size_t widths[COLUMNS_MAX];
    unsigned left_out; /* number of hidden optional columns */
};

/* True for ranges: rows are nested, and CPU time includes that of other threads and processes
 * inside. */
static bool has_paths(const struct short_table *spec)
{
    return strcmp(spec->label, "path") == 0;
}

/* The table's column for a column of the screen; < 0: hidden. */
static int shown_column(const struct short_view *view, size_t column)
{
    const char *name = view->spec->columns[column].name;
    for (unsigned i = 0; name && i < view->left_out; i++)
        if (strcmp(name, view->spec->optional[i]) == 0)
            return -1;
    int at = name ? find_column(view->table, name) : -1;
    bool is_absent = at >= 0 && view->table->columns[at].rare && !view->table->columns[at].title;
    return is_absent ? -1 : at;
}

static size_t room_for_names(const struct short_view *view)
{
    size_t room = view->screen->row_width - 2, taken = 0;
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        taken += shown_column(view, i) >= 0 ? view->widths[i] : 0;
    return room > taken ? room - taken : 0;
}

enum { CELL_SIZE = NUMBER_TEXT_SIZE + 1 };

/* Formats a cell of the present row. false: an unknown cell of a part. */
static bool short_cell(const struct short_view *view, const struct screen_line *line, size_t column,
                       char number[CELL_SIZE])
{
    char text[NUMBER_TEXT_SIZE];
    int at = shown_column(view, column);
    struct cell cell = view->row->cells[at];
    if (has_paths(view->spec) && strcmp(view->spec->columns[column].name, "cpu_ns") == 0)
        cell.count += line->inherited_ns;
    if (view->row->role == ROW_PART && cell.state != CELL_KNOWN)
        return false;
    snprintf(number, CELL_SIZE, "%s%s", cell.rough ? "~" : "",
             cell_number(&view->table->columns[at], &cell, text));
    return true;
}

/* Widths of the longest numbers, plus a blank. */
static void fit_columns(struct short_view *view)
{
    char number[CELL_SIZE];
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        const char *title = view->spec->columns[i].title;
        size_t needed = title ? term_text_width(title) + 1 : 0;
        view->widths[i] = needed > COLUMN_WIDTH ? needed : COLUMN_WIDTH;
    }
    for (size_t at = 0; at < view->lines.count; at++) {
        const struct screen_line *line = &view->lines.items[at];
        if (line->index == SCREEN_LINE_ALONE)
            continue;
        table_row(view->table, line->index, view->row);
        for (size_t i = 0; i < COLUMNS_MAX; i++) {
            bool any = shown_column(view, i) >= 0 && short_cell(view, line, i, number);
            size_t needed = any ? strlen(number) + 1 : 0;
            view->widths[i] = needed > view->widths[i] ? needed : view->widths[i];
        }
    }
}

/* The width of the longest label, hiding less relevant columns to make room. */
static void fit_names(struct short_view *view)
{
    const size_t optional = sizeof(view->spec->optional) / sizeof(*view->spec->optional);
    size_t width = SCREEN_NAME_MIN;
    for (size_t i = 0; i < view->lines.count; i++) {
        const struct screen_line *line = &view->lines.items[i];
        size_t needed = screen_line_indent(line) + term_text_width(line->label);
        if (line->index == SCREEN_LINE_ALONE)
            continue;
        width = needed > width ? needed : width;
    }
    size_t enough = width < SCREEN_NAME_ROOM ? width : SCREEN_NAME_ROOM;
    while (view->left_out < optional && view->spec->optional[view->left_out] &&
           room_for_names(view) < enough)
        view->left_out++;
    size_t room = room_for_names(view);
    room = room > SCREEN_NAME_MIN ? room : SCREEN_NAME_MIN;
    view->names = width < room ? width : room;
}

static void put_short_row(const struct short_view *view, const struct screen_line *line)
{
    char number[CELL_SIZE];
    const struct table_row *row = view->row;
    size_t blanks = 0; /* omitted before unknown cells at the end of a line */
    size_t indent = screen_line_indent(line);
    indent = indent < view->names ? indent : view->names - 1;
    if (line->index == SCREEN_LINE_ALONE) {
        fprintf(view->screen->out, " %*s", (int)indent, "");
        screen_put(view->screen, STYLE_DIM, line->label);
        fputs("\n", view->screen->out);
        return;
    }
    table_row(view->table, line->index, view->row);
    fprintf(view->screen->out, " %*s", (int)indent, "");
    screen_put_cut(view->screen, row->observed ? STYLE_DIM : STYLE_PLAIN, line->label,
                   view->names - indent);
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        if (shown_column(view, i) < 0)
            continue;
        blanks += view->widths[i];
        if (!short_cell(view, line, i, number))
            continue;
        fprintf(view->screen->out, "%*s", (int)blanks, number);
        blanks = 0;
    }
    fputs("\n", view->screen->out);
}

static void put_right(FILE *out, size_t width, const char *text)
{
    size_t taken = term_text_width(text);
    fprintf(out, "%*s%s", (int)(width > taken ? width - taken : 0), "", text);
}

static void put_short_head(const struct short_view *view)
{
    FILE *out = view->screen->out;
    fprintf(out, " %-*s", (int)view->names, "");
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        if (shown_column(view, i) >= 0)
            put_right(out, view->widths[i], view->spec->columns[i].title);
    fputs("\n", out);
}

/* Workers with similar load add no information to their pool. */
static bool are_alike(const struct short_view *view)
{
    uint64_t most = 0, least = UINT64_MAX;
    for (uint64_t i = 0; i < view->table->row_count; i++) {
        table_row(view->table, i, view->row);
        uint64_t busy = cell_count(view->table, view->row, "busy_ns");
        most = busy > most ? busy : most;
        least = busy < least ? busy : least;
    }
    return most == 0 || (most - least) * ALIKE_PART <= most;
}

/* Counts the leading rows that are large enough for a line. */
static uint64_t count_worthy(const struct screen *screen, const struct short_table *spec,
                             const struct order *order, uint64_t count)
{
    uint64_t wall_ns = (uint64_t)screen->facts->totals->wall_ns, worthy = 0;
    bool minor = strcmp(spec->name, "imports") == 0, memory = strcmp(spec->name, "memory") == 0;
    uint64_t most = minor ? screen->rows.minor : screen->rows.tables;
    while (worthy < count && worthy < most &&
           (spec->wall_part == 0 || order[worthy].size * SCREEN_ROW_PART >= wall_ns) &&
           (!memory || order[worthy].size * SCREEN_ROW_PART >= order[0].size))
        worthy++;
    return worthy;
}

enum { PARTS_MAX = 3 }; /* rows with visible parts */

/* Tasks wait for workers concurrently, so these parts sum to more than elapsed time and are no
 * basis for the shares of other parts. */
static bool is_beside(const char *part)
{
    static const char *const parts[] = {"worker start", "queued", "waiting"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (strcmp(part, parts[i]) == 0)
            return true;
    return false;
}

/* Loads the row at an index; false if it is not a part. */
static bool take_part(struct short_view *view, uint64_t index)
{
    if (index >= view->table->row_count)
        return false;
    table_row(view->table, index, view->row);
    return view->row->role == ROW_PART;
}

static int add_part(struct short_view *view, uint64_t index, const char *label)
{
    int rc = screen_lines_add(&view->lines, index, label);
    if (rc == 0)
        view->lines.items[view->lines.count - 1].depth = 1;
    return rc;
}

/* Adds the parts that follow a row below it, small ones on one line. */
static int add_parts(struct short_view *view, uint64_t index)
{
    uint64_t whole = cell_count(view->table, view->row, "total_ns"), worked = whole;
    unsigned small = 0;
    int rc = 0;
    for (uint64_t at = index + 1; take_part(view, at); at++)
        if (is_beside(cell_text(view->table, view->row, "part")))
            worked -= cell_count(view->table, view->row, "total_ns");
    for (uint64_t at = index + 1; rc == 0 && take_part(view, at); at++) {
        const char *part = cell_text(view->table, view->row, "part");
        uint64_t of = is_beside(part) ? whole : worked;
        bool shown = cell_count(view->table, view->row, "total_ns") * SCREEN_PART >= of && of > 0;
        small += !shown;
        rc = shown ? add_part(view, at, part) : 0;
    }
    char label[64];
    snprintf(label, sizeof(label), "(%u part%s below 2 %%)", small, small == 1 ? "" : "s");
    return rc == 0 && small > 0 ? add_part(view, SCREEN_LINE_ALONE, label) : rc;
}

/* Adds, by path, the CPU time of forked processes and threads inside inherited ranges. */
static void add_inherited(struct short_view *view)
{
    const struct table *table = report_find(view->screen->report, "inherited_ranges");
    for (uint64_t i = 0; table && i < table->row_count; i++) {
        table_row(table, i, view->row);
        if (view->row->role == ROW_PLAIN)
            screen_lines_inherit(&view->lines, cell_text(table, view->row, "path"),
                                 cell_count(table, view->row, "cpu_ns"));
    }
}

static int make_lines(struct short_view *view, const struct order *order, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        table_row(view->table, order[i].index, view->row);
        rc = screen_lines_add(&view->lines, order[i].index,
                              cell_text(view->table, view->row, label_of(view->spec, view->table)));
        if (rc == 0 && i < PARTS_MAX)
            rc = add_parts(view, order[i].index);
    }
    if (rc == 0 && has_paths(view->spec)) {
        add_inherited(view);
        rc = screen_lines_nest(&view->lines);
    }
    screen_lines_shorten(&view->lines);
    return rc;
}

/* Prints a table's notes about missing data, for example of tasks. */
static void put_notes(const struct screen *screen, const struct table *table)
{
    char text[512], count[NUMBER_TEXT_SIZE];
    for (unsigned i = 0; i < table->note_count; i++) {
        const struct table_note *note = &table->notes[i];
        if (!note->after || note->count == 0)
            continue;
        snprintf(text, sizeof(text), "%s%s%s", note->before, number_count(note->count, count),
                 note->after);
        fputs(" ", screen->out);
        screen_put_wrapped(screen, STYLE_PLAIN, text, 1);
    }
}

/* `order` has room for all rows. */
static int put_rows(struct short_view *view, struct order *order)
{
    const struct short_table *spec = view->spec;
    uint64_t count = find_order(spec, view->table, view->row, order);
    uint64_t shown = count_worthy(view->screen, spec, order, count);
    uint64_t wall_ns = (uint64_t)view->screen->facts->totals->wall_ns;
    if (shown == 0 || (spec->wall_part && order[0].size * spec->wall_part < wall_ns) ||
        (spec->unlike && are_alike(view)))
        return 0;
    int rc = make_lines(view, order, shown);
    fit_columns(view);
    fit_names(view);
    screen_title(view->screen, spec->title);
    put_short_head(view);
    for (size_t i = 0; i < view->lines.count; i++)
        put_short_row(view, &view->lines.items[i]);
    if (shown < count)
        fprintf(view->screen->out, " (%llu more: annot report --table %s)\n",
                (unsigned long long)(count - shown), spec->name);
    put_notes(view->screen, view->table);
    return rc;
}

static int put_short(const struct screen *screen, const struct short_table *spec)
{
    struct short_view view = {.screen = screen, .spec = spec};
    view.table = report_find(screen->report, spec->name);
    if (!view.table || view.table->row_count == 0)
        return 0;
    struct order *order = calloc(view.table->row_count, sizeof(*order));
    view.row = malloc(sizeof(*view.row));
    int rc = order && view.row ? put_rows(&view, order) : -ENOMEM;
    screen_lines_free(&view.lines);
    free(view.row);
    free(order);
    return rc;
}

/* Returns true if the program itself marked ranges, which describe its work better. */
static bool has_own_ranges(const struct screen *screen)
{
    const struct table *table = report_find(screen->report, "ranges");
    struct table_row *row = malloc(sizeof(*row));
    bool found = false;
    for (uint64_t i = 0; table && row && i < table->row_count && !found; i++) {
        table_row(table, i, row);
        found = row->role == ROW_PLAIN && !row->observed;
    }
    free(row);
    return found;
}

/* With little room, the workers are shown instead of their only pool; with less, they are hidden as
 * well. */
static bool is_left_out(const struct screen *screen, const struct short_table *spec)
{
    struct short_view view = {.screen = screen, .row = malloc(sizeof(*view.row))};
    bool tight = screen->rows.findings < SCREEN_FINDINGS;
    bool pools = strcmp(spec->name, "pools") == 0 && screen->rows.minor == 0 && !tight;
    const struct table *table = pools ? report_find(screen->report, spec->name) : NULL;
    view.table = report_find(screen->report, "pool_workers");
    bool told = table && table->row_count == 1 && view.table && view.row && !are_alike(&view);
    free(view.row);
    return told || (tight && spec->unlike);
}

int screen_tables(const struct screen *screen)
{
    int rc = 0;
    if (!has_own_ranges(screen))
        rc = screen_tree(screen);
    for (const struct short_table *spec = short_tables; spec->name && rc == 0; spec++)
        if (!is_left_out(screen, spec))
            rc = put_short(screen, spec);
    return rc;
}
