/* SPDX-License-Identifier: MIT */
/* All data gathered for a page while the recording is read. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_MODEL_H
#define ANNOT_PAGE_MODEL_H

#include "page.h"
#include "page_calls.h"
#include "page_counters.h"
#include "page_data.h"
#include "page_ranges.h"
#include "page_samples.h"
#include "page_sources.h"
#include "page_spans.h"
#include "page_states.h"
#include "page_tasks.h"

#include <stdbool.h>
#include <stdint.h>

struct page {
    struct page_options options;
    const struct trace *trace;
    struct report *report;
    struct page_span span;
    struct page_samples samples;
    struct page_nodes nodes;
    struct page_lines lines;
    struct page_names names;
    struct page_states states;
    struct page_spans spans;
    struct page_counters counters;
    struct page_ranges ranges;
    struct page_pools pools;
    uint32_t
        *thread_index; /* by thread: number on the page; threads not shown share the last one */
    uint32_t *process_index;
    uint32_t *name_of_path; /* indexed by range path */
    uint32_t path_count;
    uint32_t row_limit, text_limit;
    bool has_samples;
};

#endif
