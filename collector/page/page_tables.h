/* SPDX-License-Identifier: MIT */
/* The tables of the report, and of a comparison. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_TABLES_H
#define ANNOT_PAGE_TABLES_H

#include "json_writer.h"

struct page;

int page_put_tables(struct page *page, struct json_doc *doc);
int page_put_compare(struct page *page, struct json_doc *doc);

#endif
