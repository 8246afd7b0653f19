/* SPDX-License-Identifier: MIT */
/* Tasks of event loops, and requests: the outermost ranges of tracks, as columns. */
#include "page_parts.h"

#include <stdlib.h>

enum column { BEGIN, LENGTH, NAME, THREAD, AWAITED };

static int by_begin(const void *left, const void *right)
{
    const struct page_range *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->sub < b->sub ? -1 : a->sub > b->sub;
}

static int64_t value_of(const struct page *page, const struct page_range *range, enum column column)
{
    uint32_t thread = page->thread_index[range->thread];
    int64_t begin_ns = page_since_begin(page, range->begin_ns);
    const uint64_t *awaited;
    switch (column) {
    case BEGIN:
        return begin_ns;
    case LENGTH:
        return page_since_begin(page, range->begin_ns + (int64_t)range->length_ns) - begin_ns;
    case NAME:
        return page_use_name(&page->names, range->name);
    case THREAD:
        return thread == PAGE_NONE ? -1 : (int64_t)thread;
    default:
        awaited = map64_find(&page->spans.await_by_track, (uint64_t)range->sub + 1);
        return awaited ? (int64_t)*awaited : 0;
    }
}

static void put_column(const struct page *page, struct json_doc *doc, const char *key,
                       enum column column, const struct page_longest *ranges)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < ranges->items.count; i++)
        json_doc_int(doc, NULL, value_of(page, &ranges->items.items[i], column));
    json_doc_close(doc);
}

static void put_ranges(const struct page *page, struct json_doc *doc, const char *key,
                       const struct page_longest *ranges)
{
    json_doc_object(doc, key);
    put_column(page, doc, "name_of", NAME, ranges);
    put_column(page, doc, "begin", BEGIN, ranges);
    put_column(page, doc, "length", LENGTH, ranges);
    put_column(page, doc, "thread", THREAD, ranges);
    if (ranges == &page->spans.tasks)
        put_column(page, doc, "await_ns", AWAITED, ranges);
    if (ranges == &page->spans.requests)
        page_put_statuses(page, doc, ranges);
    json_doc_uint(doc, "more", ranges->dropped);
    json_doc_close(doc);
}

int page_tasks_finish(struct page_spans *spans)
{
    struct page_longest *both[] = {&spans->tasks, &spans->requests};
    int error = 0;
    for (size_t i = 0; i < sizeof(both) / sizeof(*both) && !error; i++) {
        error = page_longest_limit(both[i], PAGE_TASKS_MAX);
        if (both[i]->items.count > 0)
            qsort(both[i]->items.items, both[i]->items.count, sizeof(*both[i]->items.items),
                  by_begin);
    }
    return error;
}

int page_put_tasks(struct page *page, struct json_doc *doc)
{
    put_ranges(page, doc, "tasks", &page->spans.tasks);
    put_ranges(page, doc, "requests", &page->spans.requests);
    return 0;
}
