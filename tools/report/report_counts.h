/* SPDX-License-Identifier: MIT */
/* `annot report --source` of a recording with lines that were counted. Main thread only. */
#ifndef ANNOT_REPORT_COUNTS_H
#define ANNOT_REPORT_COUNTS_H

#include "report_view.h"

#include <stdbool.h>
#include <stdio.h>

struct report;
struct report_view;

/* As report_source(). false: no line of that name was counted, and nothing was shown. */
bool report_counts_source(const struct report *report, const struct report_view *view,
                          const char *name, FILE *out);

#endif
