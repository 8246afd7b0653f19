/* SPDX-License-Identifier: MIT */
/* The lanes of the timeline: ranges that are drawn, in rows. What may overlap is laid out: each
 * track, or each range that nests in none, takes the first rows that are free. */
#include "page_parts.h"

#include "trace.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS_MAX = 64, LABEL_SIZE = 512 };

/* Ranges of one track from first to last. */
struct block {
    size_t first, count; /* of the sorted ranges */
    int64_t begin_ns, end_ns;
    uint32_t rows;
};

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
        return (a) < (b) ? -1 : 1;

static int by_lane(const void *left, const void *right)
{
    const struct page_range *a = left, *b = right;
    COMPARE(a->lane, b->lane)
    COMPARE(a->sub, b->sub)
    COMPARE(a->begin_ns, b->begin_ns)
    COMPARE(a->depth, b->depth)
    COMPARE(b->length_ns, a->length_ns)
    return 0;
}

static int by_begin(const void *left, const void *right)
{
    const struct block *a = left, *b = right;
    COMPARE(a->begin_ns, b->begin_ns)
    COMPARE(a->first, b->first)
    return 0;
}

static int64_t end_of(const struct page_range *range)
{
    return range->begin_ns + (int64_t)range->length_ns;
}

/* The blocks of a lane's ranges. Ranges of a process and of a queue are each one of their own. */
static size_t find_blocks(const struct page_range *ranges, size_t count, bool single,
                          struct block *blocks)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct page_range *range = &ranges[i];
        struct block *block = found > 0 ? &blocks[found - 1] : NULL;
        if (!block || single || ranges[block->first].sub != range->sub ||
            (range->depth == 0 && range->begin_ns >= block->end_ns)) {
            block = &blocks[found++];
            *block = (struct block){i, 0, range->begin_ns, end_of(range), 1};
        }
        block->count++;
        block->end_ns = end_of(range) > block->end_ns ? end_of(range) : block->end_ns;
        block->rows = range->depth + 1 > block->rows ? range->depth + 1 : block->rows;
    }
    return found;
}

/* The first row from which on as many are free as the block has. */
static uint32_t find_row(const int64_t *free_at, const struct block *block)
{
    uint32_t rows = block->rows < ROWS_MAX ? block->rows : ROWS_MAX;
    for (uint32_t row = 0; row + rows <= ROWS_MAX; row++) {
        uint32_t at = row;
        while (at < row + rows && free_at[at] <= block->begin_ns)
            at++;
        if (at == row + rows)
            return row;
    }
    return ROWS_MAX - rows;
}

static int lay_out(struct page_range *ranges, size_t count, bool single)
{
    struct block *blocks = calloc(count + 1, sizeof(*blocks));
    int64_t free_at[ROWS_MAX];
    if (!blocks)
        return -ENOMEM;
    for (unsigned i = 0; i < ROWS_MAX; i++)
        free_at[i] = INT64_MIN;
    size_t found = find_blocks(ranges, count, single, blocks);
    qsort(blocks, found, sizeof(*blocks), by_begin);
    for (size_t i = 0; i < found; i++) {
        const struct block *block = &blocks[i];
        uint32_t row = find_row(free_at, block);
        for (uint32_t at = row; at < row + block->rows && at < ROWS_MAX; at++)
            free_at[at] = block->end_ns;
        for (size_t j = 0; j < block->count; j++)
            ranges[block->first + j].depth += row;
    }
    free(blocks);
    return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum lane_column { LANE_BEGIN, LANE_LENGTH, LANE_NAME, LANE_DEPTH };

struct slice {
    const struct page_range *ranges;
    size_t count;
};

static void put_column(const struct page *page, struct json_doc *doc, const char *key,
                       enum lane_column column, const struct slice *slice)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < slice->count; i++) {
        const struct page_range *range = &slice->ranges[i];
        int64_t begin_ns = page_since_begin(page, range->begin_ns);
        json_doc_int(doc, NULL,
                     column == LANE_BEGIN    ? begin_ns
                     : column == LANE_LENGTH ? page_since_begin(page, end_of(range)) - begin_ns
                     : column == LANE_NAME   ? page_use_name(&page->names, range->name)
                                             : (int64_t)range->depth);
    }
    json_doc_close(doc);
}

static int put_density(struct json_doc *doc, const struct page_lane *lane)
{
    uint8_t bytes[PAGE_DENSITY_SLOTS] = {0};
    for (uint32_t i = 0; i < PAGE_DENSITY_SLOTS && lane->density; i++) {
        float part = lane->density[i] * 255;
        bytes[i] = (uint8_t)(part > 255 ? 255 : part > 0 && part < 1 ? 1 : part);
    }
    if (lane->density)
        return page_put_bytes(doc, "density", bytes, sizeof(bytes));
    json_doc_null(doc, "density");
    return 0;
}

static int put_lane(const struct page *page, struct json_doc *doc, const struct page_lane *lane,
                    const struct slice *slice)
{
    static const char *const kinds[] = {[PAGE_LANE_THREAD] = "thread",
                                        [PAGE_LANE_PROCESS] = "process",
                                        [PAGE_LANE_TRACK] = "track",
                                        [PAGE_LANE_QUEUE] = "queue"};
    bool thread = lane->kind == PAGE_LANE_THREAD;
    uint32_t index = thread ? page->thread_index[lane->ordinal] : PAGE_NONE;
    uint32_t process = page->process_index[lane->process];
    char label[LABEL_SIZE];
    json_doc_object(doc, NULL);
    json_doc_int(doc, "thread", index == PAGE_NONE ? -1 : (int64_t)index);
    if (thread)
        trace_thread_label(page->trace, lane->ordinal, label, sizeof(label));
    else if (lane->kind == PAGE_LANE_PROCESS)
        trace_process_label(page->trace, lane->ordinal, label, sizeof(label));
    else if (lane->kind == PAGE_LANE_QUEUE)
        trace_lane_path(page->trace, lane->ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", lane->name ? lane->name : label);
    json_doc_text(doc, "kind", kinds[lane->kind]);
    json_doc_int(doc, "process", process == PAGE_NONE ? -1 : (int64_t)process);
    put_column(page, doc, "begin", LANE_BEGIN, slice);
    put_column(page, doc, "length", LANE_LENGTH, slice);
    put_column(page, doc, "name_of", LANE_NAME, slice);
    put_column(page, doc, "depth", LANE_DEPTH, slice);
    json_doc_uint(doc, "short", lane->short_count);
    int error = put_density(doc, lane);
    json_doc_close(doc);
    return error;
}

/* Once: depths become rows. */
int page_lanes_finish(struct page_spans *spans)
{
    struct page_longest *drawn = &spans->drawn;
    int error = page_spans_limit(spans, PAGE_SPANS_MAX);
    if (drawn->items.count > 0)
        qsort(drawn->items.items, drawn->items.count, sizeof(*drawn->items.items), by_lane);
    for (size_t i = 0; i < drawn->items.count && !error;) {
        struct page_range *first = &drawn->items.items[i];
        uint8_t kind = spans->lanes.items[first->lane].kind;
        size_t count = 0;
        for (; i < drawn->items.count && drawn->items.items[i].lane == first->lane; i++)
            count++;
        if (kind != PAGE_LANE_THREAD)
            error = lay_out(first, count, kind != PAGE_LANE_TRACK);
    }
    return error;
}

int page_put_lanes(struct page *page, struct json_doc *doc)
{
    const struct page_longest *drawn = &page->spans.drawn;
    size_t at = 0;
    int error = 0;
    json_doc_array(doc, "lanes");
    for (size_t i = 0; i < page->spans.lanes.count && !error; i++) {
        size_t first = at;
        while (at < drawn->items.count && drawn->items.items[at].lane == i)
            at++;
        const struct page_lane *lane = &page->spans.lanes.items[i];
        if (at > first || lane->short_count > 0)
            error =
                put_lane(page, doc, lane, &(struct slice){drawn->items.items + first, at - first});
    }
    json_doc_close(doc);
    return error;
}
