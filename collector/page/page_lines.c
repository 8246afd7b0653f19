/* SPDX-License-Identifier: MIT */
/* The line of source that time counts for, as annot report --source has it. */
#include "page_parts.h"

#include "line_stats.h"
#include "report.h"

#include <errno.h>

int64_t page_line_of(struct page_lines *lines, uint32_t stack)
{
    struct page_line line;
    if (!lines->stats || !line_stats_own_line(lines->stats, stack, &line.source, &line.line) ||
        source_line_count(lines->texts, line.source) == 0)
        return 0;
    uint64_t key = (uint64_t)line.source << 32 | (uint32_t)line.line;
    const uint64_t *found = map64_find(&lines->index, key);
    if (found)
        return (int64_t)*found;
    if (vec_push(&lines->items, line) != 0 ||
        map64_put(&lines->index, key, lines->items.count) != 0)
        return -ENOMEM;
    return (int64_t)lines->items.count;
}

void page_lines_fini(struct page_lines *lines)
{
    vec_free(&lines->items);
    map64_free(&lines->index);
    *lines = (struct page_lines){0};
}

/* By their numbers; null: time is not told apart by lines. */
void page_put_lines(const struct page *page, struct json_doc *doc)
{
    const struct page_lines *lines = &page->lines;
    if (page->nodes.sums.no_lines) {
        json_doc_null(doc, "lines");
        return;
    }
    json_doc_object(doc, "lines");
    json_doc_array(doc, "source");
    json_doc_int(doc, NULL, -1);
    for (size_t i = 0; i < lines->items.count; i++)
        json_doc_uint(doc, NULL, lines->items.items[i].source);
    json_doc_close(doc);
    json_doc_array(doc, "line");
    json_doc_int(doc, NULL, 0);
    for (size_t i = 0; i < lines->items.count; i++)
        json_doc_int(doc, NULL, lines->items.items[i].line);
    json_doc_close(doc);
    json_doc_close(doc);
}
