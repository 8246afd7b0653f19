/* SPDX-License-Identifier: MIT */
/* Counters: least, greatest and last value of each slot. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_COUNTERS_H
#define ANNOT_PAGE_COUNTERS_H

#include "hash_map.h"
#include "json_writer.h"
#include "page_data.h"
#include "pass.h"
#include "vec.h"

#include <stdint.h>

struct page;

struct page_counters {
    const struct trace *trace;
    struct page_span span;
    VEC(struct page_counter *) items;
    struct map64 index;
    uint64_t refused; /* values of counters beyond PAGE_COUNTERS_MAX */
};

int page_counters_take(struct page_counters *counters, const struct item *item);
void page_counters_fini(struct page_counters *counters);
int page_put_counters(struct page *page, struct json_doc *doc);

#endif
