/* SPDX-License-Identifier: MIT */
/* What the files of a report's first screen share with each other only. */
#ifndef ANNOT_SCREEN_PARTS_H
#define ANNOT_SCREEN_PARTS_H

#include "report_print.h"

#include <stdio.h>

enum {
    SCREEN_WIDTH_MIN = 60,
    SCREEN_WIDTH = 80,
    SCREEN_WIDTH_MAX = 120,
    SCREEN_LINES = 45,
    SCREEN_FINDINGS = 3,
    SCREEN_NAME_ROOM = 20, /* below, columns that matter less make room */
    SCREEN_NAME_MIN = 12,
    SCREEN_BAR_MIN = 8,
    SCREEN_BAR_LEAST = 4, /* where names and locations need the room */
    SCREEN_BAR_MAX = 24,
    SCREEN_ROW_PART = 100, /* rows below a hundredth go into the remainder */
    SCREEN_PART = 50,      /* a table matters if it has a fiftieth */
};

/* Rows of each table, at most; `minor`: of those that say least. */
struct screen_rows {
    uint64_t own, tree, calls, tables, minor, waits;
    uint64_t findings;
};

struct screen {
    const struct report *report;
    const struct report_view *view;
    const struct report_facts *facts;
    const struct trace *trace;
    FILE *out;
    unsigned width, bar;
    struct screen_rows rows;
};

/* To standard output. */
struct screen screen_init(const struct report *report, const struct report_view *view);

/* ---- Texts and numbers: screen_text.c ---- */

#define STYLE_READY "33"
#define STYLE_LOSS  "31"

/* Foreign text is made harmless. */
void screen_put(const struct screen *screen, const char *style, const char *text);
void screen_title(const struct screen *screen, const char *title);
/* Cut or padded to a width, by columns of the terminal. */
void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width);

/* A text that is broken at blanks into lines, of which those behind the first are indented. */
struct screen_text {
    const char *style, *text;
    unsigned indent;
    size_t mark_at, mark_size; /* a part of it, if any, has a style of its own */
    const char *mark_style;
};

void screen_put_text(const struct screen *screen, const struct screen_text *text);
void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent);

/* A cell of 8 columns. What is below a hundred thousandth of the whole is a matter of rounding: 0.
 */
void screen_time(const struct screen *screen, const char *style, uint64_t ns, uint64_t whole);
/* Cells of 7, and of 2 + width columns; of a width of 0: none. */
void screen_share(const struct screen *screen, uint64_t part, uint64_t whole);

struct screen_bar {
    unsigned width;
    uint64_t part, whole;
    const char *style;
};

void screen_put_bar(const struct screen *screen, const struct screen_bar *bar);

/* ---- The last two cells of a row, a function and its location: screen_places.c ----
 *
 * A column of names and one of locations. Where both have no room, names are cut down to
 * six columns first; of a location folders, then the middle, never the line. */

struct screen_places {
    size_t name, place; /* columns that they take */
    bool headless;      /* no room for the title of the second */
};

struct screen_place {
    uint32_t label;
    int32_t line;                /* 0: where the function begins */
    size_t indent;               /* columns of the name's that are taken */
    const char *name, *location; /* without a label */
};

/* Of nothing yet. */
struct screen_places screen_places_init(void);
void screen_places_add(const struct screen *screen, struct screen_places *places,
                       const struct screen_place *place);
size_t screen_places_want(const struct screen_places *places);
/* Into what is behind `used` columns. */
void screen_places_fit(const struct screen *screen, struct screen_places *places, size_t used);
void screen_places_head(const struct screen *screen, const struct screen_places *places);
/* The end of a line of which `used` columns are taken without the indentation, with its newline. */
void screen_places_put(const struct screen *screen, const struct screen_places *places,
                       const struct screen_place *place, size_t used);

/* ---- Rows with paths: screen_lines.c ---- */

#define SCREEN_LINE_ALONE UINT64_MAX

struct screen_line {
    uint64_t index; /* of the table's row; SCREEN_LINE_ALONE: none, it is its label alone */
    char *path;
    char *label; /* the end of the path */
    uint32_t depth;
    uint64_t inherited_ns; /* CPU time of others inside of it */
};

struct screen_lines { /* a vec.h */
    struct screen_line *items;
    size_t count, capacity;
};

/* 0 or -ENOMEM; the label is copied. */
int screen_lines_add(struct screen_lines *lines, uint64_t index, const char *label);
/* Each follows the nearest one that its path lies in, and is labelled by the rest. 0 or -ENOMEM. */
int screen_lines_nest(struct screen_lines *lines);
/* Adds CPU time of others to the line of a path, if there is one. */
void screen_lines_inherit(struct screen_lines *lines, const char *path, uint64_t cpu_ns);
/* In the end: labels without the domain of what was observed. Paths are not whole then. */
void screen_lines_shorten(struct screen_lines *lines);
void screen_lines_free(struct screen_lines *lines);
unsigned screen_line_indent(const struct screen_line *line); /* columns before the label */

/* ---- Tables: screen_own.c, screen_waits.c, screen_tree.c, screen_tables.c ---- */

/* What stands out. 0 or -ENOMEM. */
int screen_findings(const struct screen *screen);
void screen_own(const struct screen *screen);
/* What shares of these tables and of the tree are of: the wall time, or the time of threads, if
 * that is more: one waited for another. */
uint64_t screen_whole(const struct screen *screen);
int screen_calls(const struct screen *screen); /* screen_calls.c; 0 or -ENOMEM */
void screen_waits(const struct screen *screen);
void screen_awaits(const struct screen *screen); /* screen_awaits.c */

/* What a short table shows: screen_specs.c. */
struct short_column {
    const char *name, *title;
};

struct short_table {
    const char *name, *title, *label;
    bool observed;      /* with what observers told */
    bool unlike;        /* it matters if its rows differ */
    unsigned wall_part; /* it matters from this part of the wall time on; 0: always */
    struct short_column columns[7];
    const char *size;        /* the column that rows go by; NULL: their time, else how often */
    const char *optional[3]; /* columns that make room for names, these first */
};

extern const struct short_table screen_short_tables[]; /* the last has no name */

/* The tree of calls, if it says more than the own functions do. 0 or -ENOMEM. */
int screen_tree(const struct screen *screen);

/* Ranges, tasks, imports. 0 or -ENOMEM. */
int screen_tables(const struct screen *screen);

#endif
