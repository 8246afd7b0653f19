/* SPDX-License-Identifier: MIT */
/* Ranges as the tables count them: histograms of durations, cells of counts by slot and thread; and
 * names of ranges, each once, as numbers. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_RANGES_H
#define ANNOT_PAGE_RANGES_H

#include "hash_map.h"
#include "json_writer.h"
#include "page_data.h"
#include "pass.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct page;

struct page_names {
    const struct trace *trace;
    VEC(uint64_t) items; /* domain << 32 | name: strings */
    struct map64 index;
    uint8_t *used; /* by name: it was written. Set while a page is written; or NULL */
};

/* How many of a row began when, by thread. Of too many, first the slots are joined,
 * then the threads are. */
struct page_cell {
    uint32_t row, thread;
    uint8_t slot; /* of PAGE_SLOTS, or 0 */
    uint32_t count;
    uint64_t time_ns; /* they took together */
};

struct page_cells {
    VEC(struct page_cell) items;
    struct map64 index;
    bool no_slots, none;
};

struct page_ranges {
    struct page_span span;
    struct page_cells cells;
    VEC(struct range_shape *) items; /* by row; NULL: none of it came */
    uint32_t count;                  /* that are there */
};

/* -ENOMEM. */
int64_t page_name_of(struct page_names *names, uint32_t domain, uint32_t name);

/* Before anything of a page is written: 0 or -ENOMEM. Whoever writes a name's number uses it. */
int page_names_begin(struct page_names *names);
int64_t page_use_name(const struct page_names *names, uint32_t name);
void page_names_fini(struct page_names *names);

/* Gives up the next of these: 0 or -ENOMEM. */
int page_cells_shrink(struct page_cells *cells);

/* By row. Nothing is added any more. */
void page_cells_sort(struct page_cells *cells);
int page_ranges_take(void *ranges, uint32_t row, const struct item *span);
void page_ranges_fini(struct page_ranges *ranges);
int page_put_ranges(struct page *page, struct json_doc *doc);
int page_put_names(struct page *page, struct json_doc *doc); /* after those that use them */

#endif
