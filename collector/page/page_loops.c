/* SPDX-License-Identifier: MIT */
/* What blocked event loops, one by one: the table "loop_blocks" of the report has their sums. Of
 * too many, the longest are kept. */
#include "page_parts.h"

#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum column { ROW, BEGIN, LENGTH, TIME, OTHERS, THREAD };

struct chosen {
    const struct page *page;
    struct loop_block *items;
    size_t count;
};

static int longest_first(const void *left, const void *right)
{
    const struct loop_block *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct loop_block *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int64_t value_of(const struct page *page, const struct loop_block *block, enum column column)
{
    bool known = block->thread < trace_thread_count(page->trace) &&
                 page->thread_index[block->thread] != PAGE_NONE;
    int64_t begin_ns = page_since_begin(page, block->begin_ns);
    switch (column) {
    case ROW:
        return block->place < page->row_limit ? (int64_t)block->place : -1;
    case BEGIN:
        return begin_ns;
    case LENGTH:
        return page_since_begin(page, block->end_ns) - begin_ns;
    case TIME:
        return (int64_t)block->time_ns;
    case OTHERS:
        return (int64_t)block->others;
    default:
        return known ? (int64_t)page->thread_index[block->thread] : -1;
    }
}

static void put_column(const struct chosen *chosen, struct json_doc *doc, const char *key,
                       enum column column)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < chosen->count; i++)
        json_doc_int(doc, NULL, value_of(chosen->page, &chosen->items[i], column));
    json_doc_close(doc);
}

int page_put_loops(struct page *page, struct json_doc *doc)
{
    const struct loop_block *blocks;
    size_t count = loop_blocks_each(report_loops(page->report), &blocks);
    size_t limit = (size_t)page->row_limit * 10, shown = count < limit ? count : limit;
    struct chosen chosen = {page, calloc(count + 1, sizeof(*blocks)), shown};
    if (!chosen.items)
        return -ENOMEM;
    if (count > 0)
        memcpy(chosen.items, blocks, count * sizeof(*blocks));
    if (shown < count)
        qsort(chosen.items, count, sizeof(*blocks), longest_first);
    qsort(chosen.items, shown, sizeof(*blocks), by_time);
    json_doc_object(doc, "loop_blocks");
    put_column(&chosen, doc, "row", ROW);
    put_column(&chosen, doc, "begin", BEGIN);
    put_column(&chosen, doc, "length", LENGTH);
    put_column(&chosen, doc, "ns", TIME);
    put_column(&chosen, doc, "others", OTHERS);
    put_column(&chosen, doc, "thread", THREAD);
    json_doc_uint(doc, "more", count - shown);
    json_doc_close(doc);
    free(chosen.items);
    return 0;
}
