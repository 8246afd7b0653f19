/* SPDX-License-Identifier: MIT */
/* The first screen of a report: its state, and texts and cells of rows. Main thread only. */
#ifndef ANNOT_SCREEN_TEXT_H
#define ANNOT_SCREEN_TEXT_H

#include "report_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SCREEN_WIDTH_MIN = 60,
    SCREEN_WIDTH = 80,
    SCREEN_WIDTH_MAX = 120,
    SCREEN_ROW_MAX = 600,   /* without a terminal */
    SCREEN_NAME_ALIGN = 48, /* without a terminal, longer names break the alignment */
    SCREEN_LINES = 45,
    SCREEN_FINDINGS = 3,
    SCREEN_NAME_ROOM = 20, /* below this, less relevant columns are hidden */
    SCREEN_NAME_MIN = 12,
    SCREEN_BAR_MIN = 8,
    SCREEN_BAR_LEAST = 4, /* where names and locations need the space */
    SCREEN_BAR_MAX = 24,
    SCREEN_ROW_PART = 100, /* rows below a hundredth go into the remainder */
    SCREEN_PART = 50,      /* a table is shown if it has a fiftieth */
};

/* Row limits of the tables; `minor`: of the least relevant ones. */
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
    unsigned width, bar; /* width of text lines; of bars */
    unsigned
        row_width; /* width of table rows: larger without a terminal, where names are not cut */
    struct screen_rows rows;
};

/* ---- Texts and numbers -------------------------------------------------------- */

#define STYLE_RUNNABLE "33"
#define STYLE_LOSS     "31"

/* Control characters of untrusted text are escaped. */
void screen_put(const struct screen *screen, const char *style, const char *text);
void screen_title(const struct screen *screen, const char *title);

/* Cuts or pads to a width in terminal columns. */
void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width);

/* A text that is wrapped at blanks, with the lines after the first indented. */
struct screen_text {
    const char *style, *text;
    unsigned indent;
    size_t mark_at, mark_size; /* a part with its own style; size 0: unset */
    const char *mark_style;
};

void screen_put_text(const struct screen *screen, const struct screen_text *text);
void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent);

/* Prints a cell of 8 columns. Times below a hundred thousandth of the whole are rounding errors,
 * printed as 0. */
void screen_time(const struct screen *screen, const char *style, uint64_t ns, uint64_t whole);

/* Cells of 7, and of 2 + width columns; width 0: prints no bar. */
void screen_share(const struct screen *screen, uint64_t part, uint64_t whole);

struct screen_bar {
    unsigned width;
    uint64_t part, whole;
    const char *style;
};

void screen_put_bar(const struct screen *screen, const struct screen_bar *bar);

/* ---- The last two cells of a row, a function and its location ----
 *
 * A column of names and one of locations. If both do not fit, names are cut first, down to six
 * columns; then a location's folders, then its middle, never the line. */

struct screen_places {
    size_t name, place; /* widths of the columns */
    bool headless;      /* no room for the title of the second column */
};

struct screen_place {
    uint32_t label;
    int32_t line;                /* 0: first line of the function */
    size_t indent;               /* columns used by indentation in the name's column */
    const char *name, *location; /* if the label is 0 */
};

/* Widths for an empty table. */
struct screen_places screen_places_init(void);
void screen_places_add(const struct screen *screen, struct screen_places *places,
                       const struct screen_place *place);
size_t screen_places_want(const struct screen_places *places);

/* Fits the columns into the width after `used` columns. */
void screen_places_fit(const struct screen *screen, struct screen_places *places, size_t used);
void screen_places_head(const struct screen *screen, const struct screen_places *places);

/* Prints the end of a line, with its newline; `used` columns are printed already, not counting the
 * indentation. */
void screen_places_put(const struct screen *screen, const struct screen_places *places,
                       const struct screen_place *place, size_t used);

#endif
