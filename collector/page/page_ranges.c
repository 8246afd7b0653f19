/* SPDX-License-Identifier: MIT */
/* Distribution of the durations of a range: histogram, longest ones, number over time. By rows of
 * the report's statistics, to cover the same ranges. */
#include "page_ranges.h"

#include "page_data.h"
#include "page_model.h"
#include "range_stats.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Counts of ranges by row, thread and slot, in bounded memory, for the thread filter. */

enum { SLOT_BITS = 7, THREAD_BITS = 32 };

static void page_cells_fini(struct page_cells *cells)
{
    vec_free(&cells->items);
    map64_free(&cells->index);
}

static int put(struct page_cells *cells, const struct page_cell *cell)
{
    uint64_t key = (uint64_t)cell->row << (SLOT_BITS + THREAD_BITS) |
                   (uint64_t)cell->thread << SLOT_BITS | cell->slot;
    const uint64_t *found = map64_find(&cells->index, key + 1);
    if (!found) {
        if (map64_put(&cells->index, key + 1, cells->items.count) != 0)
            return -ENOMEM;
        return vec_push(&cells->items, *cell);
    }
    cells->items.items[*found].count += cell->count;
    cells->items.items[*found].time_ns += cell->time_ns;
    return 0;
}

int page_cells_shrink(struct page_cells *cells)
{
    size_t count = cells->items.count;
    cells->dropped = cells->no_slots;
    cells->no_slots = true;
    map64_free(&cells->index);
    cells->index = (struct map64){0};
    cells->items.count = 0;
    int error = 0;
    for (size_t i = 0; i < count && !cells->dropped && !error; i++) {
        struct page_cell cell = cells->items.items[i];
        cell.slot = 0;
        error = put(cells, &cell);
    }
    return error;
}

static int page_cells_add(struct page_cells *cells, const struct page_cell *cell)
{
    struct page_cell coarse = *cell;
    if (cells->dropped)
        return 0;
    coarse.slot = cells->no_slots ? 0 : cell->slot;
    int error = put(cells, &coarse);
    while (!error && cells->items.count > PAGE_CELLS_MAX)
        error = page_cells_shrink(cells);
    return error;
}

static int by_row(const void *left, const void *right)
{
    const struct page_cell *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (int)a->slot - (int)b->slot;
}

void page_cells_sort(struct page_cells *cells)
{
    if (cells->items.count > 0)
        qsort(cells->items.items, cells->items.count, sizeof(*cells->items.items), by_row);
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum column { CELL_SLOT, CELL_THREAD, CELL_COUNT, CELL_TIME };

static int64_t value_of(const struct page *page, const struct page_cell *cell, enum column column)
{
    bool known = cell->thread < trace_thread_count(page->trace) &&
                 page->thread_index[cell->thread] != PAGE_NONE;
    switch (column) {
    case CELL_SLOT:
        return cell->slot;
    case CELL_THREAD:
        return known ? (int64_t)page->thread_index[cell->thread] : -1;
    case CELL_COUNT:
        return cell->count;
    default:
        return (int64_t)cell->time_ns;
    }
}

static void page_cells_put(const struct page *page, struct json_doc *doc, uint32_t row)
{
    static const char *const keys[] = {"slot", "thread", "count", "ns"};
    const struct page_cells *cells = &page->ranges.cells;
    size_t first = 0, last = cells->items.count;
    for (size_t high = last; first < high;) {
        size_t middle = first + (high - first) / 2;
        if (cells->items.items[middle].row < row)
            first = middle + 1;
        else
            high = middle;
    }
    json_doc_object(doc, "cells");
    for (unsigned column = 0; column < sizeof(keys) / sizeof(*keys); column++) {
        json_doc_array(doc, keys[column]);
        for (size_t i = first; i < last && cells->items.items[i].row == row; i++)
            json_doc_int(doc, NULL, value_of(page, &cells->items.items[i], column));
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

enum { OUTLIERS = 5, SHAPES_MAX = 5000, LABEL_SIZE = 4096 };

struct outlier {
    int64_t begin_ns;
    uint64_t length_ns; /* 0 if unused */
    uint32_t thread;
};

struct range_shape {
    uint32_t bins[PAGE_BINS];
    uint32_t over_time[PAGE_SLOTS];
    struct outlier longest[OUTLIERS]; /* longest first */
};

void page_ranges_fini(struct page_ranges *ranges)
{
    for (size_t i = 0; i < ranges->items.count; i++)
        free(ranges->items.items[i]);
    vec_free(&ranges->items);
    page_cells_fini(&ranges->cells);
}

/* The first and last bin also take all shorter and longer durations. */
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
    json_doc_uint(doc, "range_slots", cells->dropped ? 0 : cells->no_slots ? 1 : PAGE_SLOTS);
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

/* ---- Names ----------------------------------------------------------------------------------- */

int64_t page_name_of(struct page_names *names, uint32_t domain, uint32_t name)
{
    uint64_t key = (uint64_t)domain << 32 | name;
    const uint64_t *found = map64_find(&names->index, key + 1);
    if (found)
        return (int64_t)*found;
    if (vec_push(&names->items, key) != 0 ||
        map64_put(&names->index, key + 1, names->items.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)names->items.count - 1;
}

int page_names_begin(struct page_names *names)
{
    free(names->used);
    names->used = calloc(names->items.count + 1, 1);
    return names->used ? 0 : -ENOMEM;
}

int64_t page_use_name(const struct page_names *names, uint32_t name)
{
    names->used[name] = 1;
    return name;
}

void page_names_fini(struct page_names *names)
{
    free(names->used);
    vec_free(&names->items);
    map64_free(&names->index);
}

/* Writes "load", "nvtx:step", as in the tables; null for unused names. */
int page_put_names(struct page *page, struct json_doc *doc)
{
    const struct page_names *names = &page->names;
    char buffer[PAGE_TEXT_MAX + 8];
    json_doc_array(doc, "names");
    for (size_t i = 0; i < names->items.count; i++) {
        struct text text = text_init(buffer, sizeof(buffer));
        if (!names->used[i]) {
            json_doc_null(doc, NULL);
            continue;
        }
        uint32_t domain = (uint32_t)(names->items.items[i] >> 32);
        const struct trace_string *name =
            trace_string(names->trace, (uint32_t)names->items.items[i]);
        if (domain)
            text_format(&text, "%s:", trace_string(names->trace, domain)->bytes);
        text_format(&text, "%s", name->length ? name->bytes : "(no name)");
        page_put_text(page, doc, NULL, buffer);
    }
    json_doc_close(doc);
    return 0;
}
