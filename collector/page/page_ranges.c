/* SPDX-License-Identifier: MIT */
/* How the durations of a range are spread: a histogram, the longest ones, how many there were over
 * time. By rows of the report's statistics, so that they are of the same ranges. */
#include "page_parts.h"

#include "range_stats.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OUTLIERS = 5, SHAPES_MAX = 5000, LABEL_SIZE = 4096 };

struct outlier {
    int64_t begin_ns;
    uint64_t length_ns; /* 0: none */
    uint32_t thread;
};

struct range_shape {
    uint32_t bins[PAGE_BINS];
    uint32_t over_time[PAGE_SLOTS];
    struct outlier longest[OUTLIERS]; /* the longest first */
};

void page_ranges_fini(struct page_ranges *ranges)
{
    for (size_t i = 0; i < ranges->items.count; i++)
        free(ranges->items.items[i]);
    vec_free(&ranges->items);
    page_cells_fini(&ranges->cells);
}

/* The first bin is of all that is shorter, the last one of all that is longer. */
static unsigned bin_of(uint64_t length_ns)
{
    static const uint64_t quarters[] = {1000, 1778, 3162, 5623};
    uint64_t decade = 1;
    unsigned bin = 0;
    while (bin + 4 < PAGE_BINS && length_ns >= decade * 10000) {
        decade *= 10;
        bin += 4;
    }
    for (unsigned i = 1; i < 4; i++)
        bin += length_ns >= quarters[i] * decade;
    return bin;
}

static void see_longest(struct range_shape *shape, const struct item *span, uint64_t length_ns)
{
    struct outlier found = {span->begin_ns, length_ns, span->event->thread};
    unsigned at = OUTLIERS;
    while (at > 0 && shape->longest[at - 1].length_ns < length_ns)
        at--;
    if (at == OUTLIERS)
        return;
    memmove(&shape->longest[at + 1], &shape->longest[at],
            (OUTLIERS - at - 1) * sizeof(shape->longest[0]));
    shape->longest[at] = found;
}

int page_ranges_take(void *context, uint32_t row, const struct item *span)
{
    struct page_ranges *ranges = context;
    uint64_t length_ns =
        span->end_ns > span->begin_ns ? (uint64_t)span->end_ns - (uint64_t)span->begin_ns : 0;
    while (ranges->items.count <= row)
        if (vec_push(&ranges->items, NULL) != 0)
            return -ENOMEM;
    if (!ranges->items.items[row]) {
        if (ranges->count >= SHAPES_MAX)
            return 0;
        ranges->items.items[row] = calloc(1, sizeof(struct range_shape));
        ranges->count++;
        if (!ranges->items.items[row])
            return -ENOMEM;
    }
    struct range_shape *shape = ranges->items.items[row];
    shape->bins[bin_of(length_ns)]++;
    uint32_t slot = page_slot(&ranges->span, PAGE_SLOTS, span->begin_ns);
    shape->over_time[slot]++;
    see_longest(shape, span, length_ns);
    const struct page_cell cell = {.row = row,
                                   .thread = span->event->thread,
                                   .slot = (uint8_t)slot,
                                   .count = 1,
                                   .time_ns = length_ns};
    return page_cells_add(&ranges->cells, &cell);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_counts(struct json_doc *doc, const char *key, const uint32_t *counts,
                       unsigned count)
{
    json_doc_array(doc, key);
    for (unsigned i = 0; i < count; i++)
        json_doc_uint(doc, NULL, counts[i]);
    json_doc_close(doc);
}

static void put_outliers(const struct page *page, struct json_doc *doc,
                         const struct range_shape *shape)
{
    json_doc_array(doc, "outliers");
    for (unsigned i = 0; i < OUTLIERS && shape->longest[i].length_ns > 0; i++) {
        const struct outlier *outlier = &shape->longest[i];
        bool known = outlier->thread < trace_thread_count(page->trace);
        uint32_t thread = known ? page->thread_index[outlier->thread] : PAGE_NONE;
        json_doc_object(doc, NULL);
        json_doc_int(doc, "begin", page_since_begin(page, outlier->begin_ns));
        json_doc_uint(doc, "length", outlier->length_ns);
        json_doc_int(doc, "thread", thread == PAGE_NONE ? -1 : (int64_t)thread);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_shape(const struct page *page, struct json_doc *doc, const char *kind, uint32_t row)
{
    const struct range_shape *shape = page->ranges.items.items[row];
    char label[LABEL_SIZE];
    range_stats_label(report_ranges(page->report), row, label, sizeof(label));
    json_doc_object(doc, NULL);
    page_put_text(page, doc, "path", label);
    json_doc_text(doc, "kind", kind);
    put_counts(doc, "bins", shape->bins, PAGE_BINS);
    put_outliers(page, doc, shape);
    put_counts(doc, "over_time", shape->over_time, PAGE_SLOTS);
    page_cells_put(page, doc, row);
    json_doc_close(doc);
}

int page_put_ranges(struct page *page, struct json_doc *doc)
{
    static const struct {
        enum range_kind kind;
        const char *name;
    } kinds[] = {{RANGE_PUSHED, "ranges"},
                 {RANGE_OVERLAPPING, "overlapping_ranges"},
                 {RANGE_TRACK, "track_ranges"}};

    const struct page_cells *cells = &page->ranges.cells;
    int64_t count = 0;
    json_doc_uint(doc, "range_slots", cells->none ? 0 : cells->no_slots ? 1 : PAGE_SLOTS);
    json_doc_array(doc, "range_stats");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && count >= 0; i++) {
        uint32_t *rows = NULL;
        count = range_stats_sort(report_ranges(page->report), kinds[i].kind,
                                 page->options.report.sort, &rows);
        for (int64_t at = 0; at < count && at < page->row_limit; at++)
            if (rows[at] < page->ranges.items.count && page->ranges.items.items[rows[at]])
                put_shape(page, doc, kinds[i].name, rows[at]);
        free(rows);
    }
    json_doc_close(doc);
    return count < 0 ? (int)count : 0;
}
