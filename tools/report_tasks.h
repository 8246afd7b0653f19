/* SPDX-License-Identifier: MIT */
/* The part of `annot report` about tasks of Python's pools and executors (pool_tasks.h).
 *
 * Main thread only: prints. */
#ifndef ANNOT_REPORT_TASKS_H
#define ANNOT_REPORT_TASKS_H

#include "json_doc.h"
#include "pool_tasks.h"
#include "range_stats.h"
#include "report_lists.h"
#include "selection.h"
#include "store.h"

struct report_tasks_options {
    const struct trace *trace;
    uint64_t limit; /* functions */
    unsigned width; /* 0 = unlimited */
    bool color;
};

/* Reads the events once more, from the start, if `totals` and names say that there may be tasks.
 * *ret_tasks is the caller's, NULL if there are none. 0, -ENOMEM, or what the reader returns. */
int report_tasks_read(struct store_reader *reader, const struct selection *selection,
                      const struct range_totals *totals, struct pool_tasks **ret_tasks);

/* A table, if there are any. `tasks` may be NULL. 0 or -ENOMEM. */
int report_tasks_print(const struct report_tasks_options *options, const struct pool_tasks *tasks);

/* The array "tasks" of the report as JSON; empty if `tasks` is NULL. */
void report_tasks_json(struct json_doc *doc, const struct trace *trace,
                       const struct pool_tasks *tasks);

/* The same as rows: of each function its tasks as a whole, then the parts of their way. */
void report_tasks_each(const struct trace *trace, const struct pool_tasks *tasks,
                       report_item_fn *each, void *context);

#endif
