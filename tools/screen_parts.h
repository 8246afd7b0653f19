/* SPDX-License-Identifier: MIT */
/* What the files of a report's first screen share with each other only. */
#ifndef ANNOT_SCREEN_PARTS_H
#define ANNOT_SCREEN_PARTS_H

#include "report_print.h"

enum {
    SCREEN_WIDTH_MIN = 60,
    SCREEN_WIDTH = 80,
    SCREEN_WIDTH_MAX = 120,
    SCREEN_NAME_MIN = 12,
    SCREEN_NAME_MAX = 34,
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

#define STYLE_PLAIN ""
#define STYLE_BOLD  "1"
#define STYLE_DIM   "2"
#define STYLE_OWN   "38;5;208"

/* To standard output; foreign text is made harmless. */
void screen_put(const struct screen *screen, const char *style, const char *text);
void screen_title(const struct screen *screen, const char *title);
/* Cut or padded to a width, by columns of the terminal. */
void screen_put_cut(const struct screen *screen, const char *style, const char *text, size_t width);
/* Broken at blanks into lines; those behind the first are indented. */
void screen_put_wrapped(const struct screen *screen, const char *style, const char *text,
                        unsigned indent);
/* Cells of 8, 7 and 2 + screen->bar columns. */
void screen_time(uint64_t ns);
void screen_share(uint64_t part, uint64_t whole);
void screen_bar(const struct screen *screen, uint64_t part, uint64_t whole);

/* ---- Tables: screen_own.c, screen_tables.c ---- */

/* What stands out. 0 or -ENOMEM. */
int screen_findings(const struct screen *screen);
void screen_own(const struct screen *screen);
void screen_waits(const struct screen *screen);

/* Ranges, tasks, imports. 0 or -ENOMEM. */
int screen_tables(const struct screen *screen);

#endif
