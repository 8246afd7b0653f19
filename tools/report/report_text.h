/* SPDX-License-Identifier: MIT */
/* All tables of a report as text, and the lines around them. Main thread only. */
#ifndef ANNOT_REPORT_TEXT_H
#define ANNOT_REPORT_TEXT_H

#include "report_view.h"

#include <stddef.h>
#include <stdio.h>

struct report;
struct report_view;
struct trace;

/* "python3 a.py ended with exit status 1." Empty, and 0: its end is not known, or was as it should
 * be. */
size_t command_ending(const struct trace *trace, char *buffer, size_t size);

/* All tables: 0 or -ENOMEM. */
int report_text(const struct report *report, const struct report_view *view);

/* What is missing, if anything is: records, parts of samples, of the file. */
void report_text_missing(const struct report *report, const struct report_view *view, FILE *out);

#endif
