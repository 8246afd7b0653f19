/* SPDX-License-Identifier: MIT */
/* A table of a report as text, and the colours of its cells. Main thread only. */
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

/* Code by whose it is (enum code_owner): own stands out, libraries are pale, the interpreter grey.
 */
const char *owner_style(unsigned owner);

/* The lines below a table; where that is not shown, those that stand there all the same. */
void report_text_notes(const struct table *table, bool shown);

/* One table with its notes, if it has rows for people. 0 or -ENOMEM; -ENODATA: it has columns for
 * programs only. */
int report_text_table(const struct table *table, const struct report_view *view);

#endif
