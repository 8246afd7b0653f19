/* SPDX-License-Identifier: MIT */
/* Processes and threads. They are written first, as the other data refer to them. Thread-safety:
 * one thread per page. */
#ifndef ANNOT_PAGE_OWNERS_H
#define ANNOT_PAGE_OWNERS_H

#include "json_writer.h"

struct page;

int page_put_owners(struct page *page, struct json_doc *doc); /* processes, threads */

#endif
