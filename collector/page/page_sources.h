/* SPDX-License-Identifier: MIT */
/* The text of source files with time by line, and counted lines. Lines of sources with a text are
 * numbered from 1. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_SOURCES_H
#define ANNOT_PAGE_SOURCES_H

#include "hash_map.h"
#include "json_writer.h"
#include "vec.h"

#include <stdint.h>

struct page;

struct page_line {
    uint32_t source;
    int32_t line;
};

struct page_lines {
    const struct line_stats *stats; /* NULL without line times */
    struct source_texts *texts;
    VEC(struct page_line) items;
    struct map64 index;
};

/* The number of the line that a stack's time counts for, 0 if unknown, or -ENOMEM. */
int64_t page_line_of(struct page_lines *lines, uint32_t stack);
void page_lines_fini(struct page_lines *lines);
void page_put_lines(const struct page *page, struct json_doc *doc);
int page_put_sources(struct page *page, struct json_doc *doc);
int page_put_counted(struct page *page, struct json_doc *doc); /* lines, by function */

#endif
