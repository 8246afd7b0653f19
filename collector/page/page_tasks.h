/* SPDX-License-Identifier: MIT */
/* Tasks of event loops, blocks of these loops, and requests with their status. Thread-safety: one
 * thread per page. */
#ifndef ANNOT_PAGE_TASKS_H
#define ANNOT_PAGE_TASKS_H

#include "event.h"
#include "json_writer.h"

#include <stdint.h>

struct page;
struct page_spans;
struct trace;

/* What became of a request: "status" among its values, as a number or a word. */
uint32_t page_status_of(const struct trace *trace, const struct args *values);

/* In order of time. */
int page_tasks_finish(struct page_spans *spans);
int page_put_tasks(struct page *page, struct json_doc *doc); /* of event loops, and requests */
int page_put_loops(struct page *page, struct json_doc *doc); /* what blocked event loops */

#endif
