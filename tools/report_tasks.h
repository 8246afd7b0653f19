/* SPDX-License-Identifier: MIT */
/* The part of `annot report` about tasks of Python's pools and executors (pool_tasks.h).
 *
 * Main thread only: prints. */
#ifndef ANNOT_REPORT_TASKS_H
#define ANNOT_REPORT_TASKS_H

#include "json_writer.h"
#include "pool_tasks.h"
#include "report_lists.h"

struct report_tasks_options {
    const struct trace *trace;
    uint64_t limit; /* functions */
    unsigned width; /* 0 = unlimited */
    bool color;
};

/* A table, if there are any. 0 or -ENOMEM. */
int report_tasks_print(const struct report_tasks_options *options, const struct pool_tasks *tasks);

/* The array "tasks" of the report as JSON. */
void report_tasks_json(struct json_doc *doc, const struct trace *trace,
                       const struct pool_tasks *tasks);

/* The same as rows: of each function its tasks as a whole, then the parts of their way. */
void report_tasks_each(const struct trace *trace, const struct pool_tasks *tasks,
                       report_item_fn *each, void *context);

#endif
