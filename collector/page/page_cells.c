/* SPDX-License-Identifier: MIT */
/* Counts of ranges by row, thread and slot, in bounded memory, for filters of threads. */
#include "page_parts.h"

#include "trace.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOT_BITS = 7, THREAD_BITS = 32 };

void page_cells_fini(struct page_cells *cells)
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
    cells->none = cells->no_slots;
    cells->no_slots = true;
    map64_free(&cells->index);
    cells->index = (struct map64){0};
    cells->items.count = 0;
    int error = 0;
    for (size_t i = 0; i < count && !cells->none && !error; i++) {
        struct page_cell cell = cells->items.items[i];
        cell.slot = 0;
        error = put(cells, &cell);
    }
    return error;
}

int page_cells_add(struct page_cells *cells, const struct page_cell *cell)
{
    struct page_cell coarse = *cell;
    if (cells->none)
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

void page_cells_put(const struct page *page, struct json_doc *doc, uint32_t row)
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
