/* SPDX-License-Identifier: MIT */
/* Ranges, counted as in the tables: histograms of durations, counts by slot and thread; and the
 * table of range names. Thread-safety: one thread per page. */
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
    uint8_t *used; /* by name: was written; NULL before page_names_begin */
};

/* Number of ranges of a row that began in a slot on a thread. If there are too many cells, the
 * slots are joined first, then all cells are dropped. */
struct page_cell {
    uint32_t row, thread;
    uint8_t slot; /* less than PAGE_SLOTS, or 0 */
    uint32_t count;
    uint64_t time_ns; /* total of these ranges */
};

struct page_cells {
    VEC(struct page_cell) items;
    struct map64 index;
    bool no_slots, dropped; /* dropped: all cells */
};

struct page_ranges {
    struct page_span span;
    struct page_cells cells;
    VEC(struct range_shape *) items; /* by row; NULL without ranges */
    uint32_t count;                  /* non-NULL items */
};

/* Returns the number of the name, or -ENOMEM. */
int64_t page_name_of(struct page_names *names, uint32_t domain, uint32_t name);

/* Call page_names_begin before writing the page: 0 or -ENOMEM. page_use_name marks a name as used
 * and returns its number for output. */
int page_names_begin(struct page_names *names);
int64_t page_use_name(const struct page_names *names, uint32_t name);
void page_names_fini(struct page_names *names);

/* Drops slots, and at the second call all cells. 0 or -ENOMEM. */
int page_cells_shrink(struct page_cells *cells);

/* Sorts by row. Cells must not be added afterwards. */
void page_cells_sort(struct page_cells *cells);
int page_ranges_take(void *ranges, uint32_t row, const struct item *span);
void page_ranges_fini(struct page_ranges *ranges);
int page_put_ranges(struct page *page, struct json_doc *doc);
int page_put_names(struct page *page, struct json_doc *doc); /* after all data that use names */

#endif
