/* SPDX-License-Identifier: MIT */
/* Tasks of event loops, blocked times of these loops, requests with their status, and tasks of
 * pools. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_TASKS_H
#define ANNOT_PAGE_TASKS_H

#include "event.h"
#include "json_writer.h"
#include "pool_tasks.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct page;
struct page_names;
struct page_spans;
struct trace;

/* The status of a request, a number or a word, from the value "status"; 0 if absent. */
uint32_t page_status_of(const struct trace *trace, const struct args *values);

/* Sorts tasks and requests by time. */
int page_tasks_finish(struct page_spans *spans);
int page_put_tasks(struct page *page,
                   struct json_doc *doc); /* tasks of event loops, and requests */
int page_put_loops(struct page *page, struct json_doc *doc); /* blocked times of event loops */

/* ---- Tasks of pools -------------------------------------------------------------------------- */

/* Workers of pools and the times of each task, counted as in the tables. */

struct page_task {
    struct pool_task timing;
    uint32_t name;
};

struct page_pools {
    struct page_names *names;
    VEC(struct page_task) items;
    uint64_t least_ns, dropped; /* minimum run time; tasks dropped below it */
};

int page_pools_take(void *pools, const struct pool_task *task);
int page_pools_limit(struct page_pools *pools, size_t limit);
int page_pools_finish(struct page_pools *pools);
int page_put_pools(struct page *page, struct json_doc *doc);

#endif
