/* SPDX-License-Identifier: MIT */
/* Display options of a report. */
#ifndef ANNOT_REPORT_VIEW_H
#define ANNOT_REPORT_VIEW_H

#include "report.h"

#include <stdbool.h>

/* Options for printing to standard output. */
struct report_view {
    const struct report_options *options;
    unsigned width; /* of the terminal; 0: unlimited */
    bool wide;      /* names are not shortened */
    bool limited;   /* the user set the number of rows */
    bool color;
};

#endif
