/* SPDX-License-Identifier: MIT */
/* Prints a table of a report as text, and defines the colours of its cells. Main thread only. */
#ifndef ANNOT_REPORT_TABLES_H
#define ANNOT_REPORT_TABLES_H

#include "report_view.h"
#include "table.h"

#include <stdbool.h>

struct report_view;

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
