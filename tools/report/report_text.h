/* SPDX-License-Identifier: MIT */
/* Prints all tables of a report as text, and the lines around them. Main thread only. */
#ifndef ANNOT_REPORT_TEXT_H
#define ANNOT_REPORT_TEXT_H

#include "report_view.h"

#include <stddef.h>
#include <stdio.h>

struct report;
struct report_view;
struct trace;

/* "python3 a.py ended with exit status 1." Empty, returning 0, if the end is unknown or was a
 * success. */
size_t command_ending(const struct trace *trace, char *buffer, size_t size);

/* Prints all tables: 0 or -ENOMEM. */
int report_text(const struct report *report, const struct report_view *view);

/* Prints losses of records and samples, and damage of the file, if any. */
void report_text_missing(const struct report *report, const struct report_view *view, FILE *out);

#endif
