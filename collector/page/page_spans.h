/* SPDX-License-Identifier: MIT */
/* Drawn ranges: the longest ones of each lane; for the others, the share of time they cover.
 * Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_SPANS_H
#define ANNOT_PAGE_SPANS_H

#include "hash_map.h"
#include "json_writer.h"
#include "page_data.h"
#include "pass.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct page;
struct page_names;
struct trace;

struct page_lane {
    uint8_t kind;     /* enum page_lane_kind */
    uint32_t ordinal; /* of the thread, process, queue, or first track */
    uint32_t process;
    char *name; /* common part of the tracks' names; NULL for other lanes */
    uint64_t short_count;
    float *density; /* by slot: share covered by short ranges; NULL without them */
};

struct page_range {
    int64_t begin_ns;
    uint64_t length_ns, self_ns;
    uint32_t lane, sub; /* sub: the track, or a number for ranges that may overlap */
    uint32_t name, thread;
    uint32_t depth;
    uint32_t status; /* of requests: page_tasks.h; else 0 */
};

struct page_longest {
    VEC(struct page_range) items;
    size_t limit;
    uint64_t least_ns; /* shorter ones are dropped */
    uint64_t dropped;
};

struct page_spans {
    const struct trace *trace;
    struct page_span span;
    struct page_names *names;
    VEC(struct page_lane) lanes;
    struct map64 lane_by_key;
    uint64_t last_key; /* of the last look-up; 0 before the first */
    int64_t last_lane;
    struct page_longest drawn, tasks, requests;
    struct map64 await_by_track; /* time in ns that a task was suspended */
    uint64_t short_count;
    uint64_t refused; /* ranges of lanes beyond PAGE_LANES_MAX */
};

enum page_lane_kind {
    PAGE_LANE_THREAD,
    PAGE_LANE_PROCESS,
    PAGE_LANE_TRACK,
    PAGE_LANE_QUEUE,
    PAGE_LANE_KINDS
};

int page_spans_init(struct page_spans *spans, const struct trace *trace,
                    const struct page_span *span, struct page_names *names);
void page_spans_fini(struct page_spans *spans);
int page_lanes_finish(struct page_spans *spans); /* lays out the lanes */
int page_spans_take(struct page_spans *spans, const struct item *item);

/* Keeps the longest ones. 0 or -ENOMEM. */
int page_longest_limit(struct page_longest *longest, size_t limit);
int page_spans_limit(struct page_spans *spans, size_t limit);
int page_put_lanes(struct page *page, struct json_doc *doc);

#endif
