/* SPDX-License-Identifier: MIT */
/* The rows of a report that come from samples and tasks, for programs: `annot report --json` and
 * `--csv` print the same rows of the same numbers, all of them.
 *
 * Each list adds up: CPU time of threads, own and Python time of functions to all CPU time that was
 * sampled, waits to all time off the CPU. Main thread only. */
#ifndef ANNOT_REPORT_LISTS_H
#define ANNOT_REPORT_LISTS_H

#include "report_rows.h"

enum report_list {
    REPORT_THREADS,   /* by process and thread: short processes make many */
    REPORT_FUNCTIONS, /* and what is of no function */
    REPORT_WAITS,     /* by reason, and for a CPU */
    REPORT_PLACES,    /* by function and reason; without the waits for a CPU */
};

enum { REPORT_CELLS_MAX = 10 };

struct report_cell {
    const char *name;   /* as JSON has it */
    const char *column; /* of the CSV table */
    struct report_value value;
};

struct report_item {
    const char *kind; /* "thread", "function", "wait", "wait place" */
    struct report_cell cells[REPORT_CELLS_MAX];
    unsigned count;
};

/* Each row of the list once, in the report's order. The item is valid during the call. */
typedef void report_item_fn(void *context, const struct report_item *item);
void report_list_each(const struct report_data_options *options, enum report_list list,
                      report_item_fn *each, void *context);

#endif
