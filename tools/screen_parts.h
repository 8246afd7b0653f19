/* SPDX-License-Identifier: MIT */
/* What the files of a report's first screen share with each other only. */
#ifndef ANNOT_SCREEN_PARTS_H
#define ANNOT_SCREEN_PARTS_H

#include "report_print.h"

enum {
    SCREEN_WIDTH_MIN = 60,
    SCREEN_WIDTH = 80,
    SCREEN_WIDTH_MAX = 120,
    SCREEN_NAME_ROOM = 20, /* below, columns that matter less make room */
    SCREEN_NAME_MIN = 12,
    SCREEN_NAME_MAX = 34,
    SCREEN_BAR_LEAST = 4, /* where names need the room */
    SCREEN_BAR_MIN = 8,
    SCREEN_BAR_MAX = 24,
    SCREEN_ROW_PART = 100, /* rows below a hundredth go into the remainder */
    SCREEN_PART = 50,      /* a table matters if it has a fiftieth */
};

struct screen {
    const struct report *report;
    const struct report_view *view;
    const struct report_facts *facts;
    const struct trace *trace;
    unsigned width, bar;
    uint64_t rows; /* of a table */
};

struct screen screen_init(const struct report *report, const struct report_view *view);

/* To standard output; foreign text is made harmless. */
void screen_put(const struct screen *screen, const char *style, const char *text);
void screen_title(const struct screen *screen, const char *title);
/* Cut or padded to a width, by columns of the terminal. */
void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width);
/* Broken at blanks into lines; those behind the first are indented. */
void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent);
/* Cells of 8, 7 and 2 + width columns. */
void screen_time(uint64_t ns);
void screen_share(uint64_t part, uint64_t whole);
void screen_bar(const struct screen *screen, unsigned width, uint64_t part, uint64_t whole);

/* The last cell of a line, of which `used` columns are taken. */
void screen_location(const struct screen *screen, const char *text, size_t used);

/* ---- Rows with paths: screen_lines.c ---- */

struct screen_line {
    uint64_t index; /* of the table's row */
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

/* ---- Tables: screen_own.c, screen_tree.c, screen_tables.c ---- */

/* What stands out. 0 or -ENOMEM. */
int screen_findings(const struct screen *screen);
void screen_own(const struct screen *screen);
/* What shares of these tables and of the tree are of: the wall time, or the time of threads, if
 * that is more: one waited for another. */
uint64_t screen_whole(const struct screen *screen);
void screen_waits(const struct screen *screen);
void screen_awaits(const struct screen *screen); /* screen_awaits.c */

/* The tree of calls, if it says more than the own functions do. 0 or -ENOMEM. */
int screen_tree(const struct screen *screen);

/* Ranges, tasks, imports. 0 or -ENOMEM. */
int screen_tables(const struct screen *screen);

#endif
