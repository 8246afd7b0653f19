/* SPDX-License-Identifier: MIT */
/* `annot report --source` of a recording with counted lines. Main thread only. */
#ifndef ANNOT_REPORT_COUNTS_H
#define ANNOT_REPORT_COUNTS_H

#include "report_view.h"

#include <stdbool.h>
#include <stdio.h>

struct report;
struct report_view;

/* Like report_source(). false: `name` has no counted lines; prints nothing. */
bool report_counts_source(const struct report *report, const struct report_view *view,
                          const char *name, FILE *out);

#endif
