/* SPDX-License-Identifier: MIT */
/* Facts about the recording, its processes and threads, the wall bar, limits of the numbers'
 * accuracy, and the page's omissions. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_FACTS_H
#define ANNOT_PAGE_FACTS_H

#include "json_writer.h"

#include <stddef.h>

struct page;

/* Writes the page's title: at most size - 1 bytes and NUL. */
void page_title(const struct page *page, char *buffer, size_t size);
int page_put_facts(struct page *page, struct json_doc *doc);

/* Processes and threads. They are written before the data that refer to them. */
int page_put_owners(struct page *page, struct json_doc *doc);
int page_put_wall(struct page *page, struct json_doc *doc);
int page_put_trust(struct page *page, struct json_doc *doc);
int page_put_left_out(struct page *page, struct json_doc *doc);

#endif
