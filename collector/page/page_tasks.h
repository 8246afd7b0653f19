/* SPDX-License-Identifier: MIT */
/* Tasks of event loops, blocked times of these loops, and requests with their status.
 * Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_TASKS_H
#define ANNOT_PAGE_TASKS_H

#include "event.h"
#include "json_writer.h"

#include <stdint.h>

struct page;
struct page_spans;
struct trace;

/* The status of a request, a number or a word, from the value "status"; 0 if absent. */
uint32_t page_status_of(const struct trace *trace, const struct args *values);

/* Sorts tasks and requests by time. */
int page_tasks_finish(struct page_spans *spans);
int page_put_tasks(struct page *page,
                   struct json_doc *doc); /* tasks of event loops, and requests */
int page_put_loops(struct page *page, struct json_doc *doc); /* blocked times of event loops */

#endif
