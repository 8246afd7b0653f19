/* SPDX-License-Identifier: MIT */
/* Prints the tables of a report as text, and the lines around them; how reports are shown, and the
 * colours of their cells. Main thread only. */
#ifndef ANNOT_REPORT_TEXT_H
#define ANNOT_REPORT_TEXT_H

#include "report.h"
#include "table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct trace;

/* Options for printing to standard output. */
struct report_view {
    const struct report_options *options;
    unsigned width; /* of the terminal; 0: unlimited */
    bool wide;      /* names are not shortened */
    bool limited;   /* the user set the number of rows */
    bool color;
};

/* "python3 a.py ended with exit status 1.", and how many processes the kernel killed for lack of
 * memory, if that was observed. Empty, returning 0, if there is nothing to report. */
size_t command_ending(const struct trace *trace, char *buffer, size_t size);

/* Prints all tables: 0 or -ENOMEM. */
int report_text(const struct report *report, const struct report_view *view);

/* Prints losses of records and samples, and damage of the file, if any. */
void report_text_missing(const struct report *report, const struct report_view *view, FILE *out);

#define STYLE_PLAIN ""

#define STYLE_BOLD "1"

#define STYLE_DIM "2"

#define STYLE_OWN "38;5;208"

/* Style of code by its owner (enum code_owner): own code bright, libraries pale, the interpreter
 * grey. */
const char *owner_style(unsigned owner);

/* Prints the notes below a table; `shown` false: only those printed without the table. */
void report_text_notes(const struct table *table, bool shown);

/* Prints a table with its notes, if it has rows and visible columns. 0 or -ENOMEM; -ENODATA: all
 * its columns are for machine output. */
int report_text_table(const struct table *table, const struct report_view *view);

#endif
