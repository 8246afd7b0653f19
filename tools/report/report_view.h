/* SPDX-License-Identifier: MIT */
/* How a report is shown to people. */
#ifndef ANNOT_REPORT_VIEW_H
#define ANNOT_REPORT_VIEW_H

#include "report.h"

#include <stdbool.h>

/* For people, to standard output: facts, the tables that have rows, what is missing. */
struct report_view {
    const struct report_options *options;
    unsigned width; /* of the terminal; 0: unlimited */
    bool wide;      /* names as long as they are */
    bool limited;   /* the rows of tables were asked for */
    bool color;
};

#endif
