/* SPDX-License-Identifier: MIT */
/* A report's first screen: its state, texts and cells of rows, and the tables that come first and
 * last. Main thread only. */
#ifndef ANNOT_SCREEN_H
#define ANNOT_SCREEN_H

#include "report_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SCREEN_WIDTH_MIN = 60,
    SCREEN_WIDTH = 80,
    SCREEN_WIDTH_MAX = 120,
    SCREEN_ROW_MAX = 600,   /* without a terminal */
    SCREEN_NAME_ALIGN = 48, /* there, longer names are not in line with others */
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
    unsigned width, bar; /* of lines of text; of bars */
    unsigned row_width;  /* of rows of tables: more without a terminal, where names are whole */
    struct screen_rows rows;
};

/* ---- Texts and numbers: screen_text.c -------------------------------------------------------- */

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

/* ---- The last two cells of a row, a function and its location: screen_text.c ----
 *
 * A column of names and one of locations. Where both have no room, names are cut down to six
 * columns first; of a location folders, then the middle, never the line. */

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

/* ---- The user's own functions: screen_own.c -------------------------------------------------- */

void screen_own(const struct screen *screen);

/* What shares of these tables and of the tree are of: the wall time, or the time of threads, if
 * that is more: one waited for another. */
uint64_t screen_whole(const struct screen *screen);

/* What a row has at most: the wall time, if one thread did the work. A sum of samples may be more
 * by the time of one. */
uint64_t screen_limit(const struct screen *screen);

/* ---- Findings and short tables: screen_tables.c ---------------------------------------------- */

/* The findings. 0 or -ENOMEM. */
int screen_findings(const struct screen *screen);

/* Ranges, tasks, imports. 0 or -ENOMEM. */
int screen_tables(const struct screen *screen);

#endif
