/* SPDX-License-Identifier: MIT */
/* Lines that were counted, function by function, beside their text: what annot report --source
 * shows of them. Own functions come first, then those with most time. */
#include "page_parts.h"

#include "code_owner.h"
#include "line_counts.h"
#include "line_stats.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

enum { LINES_MAX = 4000, FUNCTIONS_MAX = 500, LINE_BYTES = 300 };

enum column { COUNTED_LINE, COUNTED_HITS, COUNTED_TIME, COUNTED_SELF, COUNTED_COLUMNS };

static const char *const keys[COUNTED_COLUMNS] = {"line", "hits", "ns", "self_ns"};

static int64_t value_of(const struct line_count *line, enum column column)
{
    switch (column) {
    case COUNTED_LINE:
        return line->line;
    case COUNTED_HITS:
        return (int64_t)line->hits;
    case COUNTED_TIME:
        return (int64_t)line->time_ns;
    default:
        return (int64_t)line_count_self_ns(line);
    }
}

static void put_columns(struct json_doc *doc, const struct line_count *lines, uint32_t count)
{
    for (enum column column = 0; column < COUNTED_COLUMNS; column++) {
        json_doc_array(doc, keys[column]);
        for (uint32_t i = 0; i < count; i++)
            json_doc_int(doc, NULL, value_of(&lines[i], column));
        json_doc_close(doc);
    }
}

static void put_text(const struct page *page, struct json_doc *doc,
                     const struct line_extent *extent)
{
    char line[LINE_BYTES + 1];
    json_doc_uint(doc, "first", extent->first);
    json_doc_array(doc, "text");
    for (uint32_t at = extent->first; at <= extent->last; at++) {
        const char *begin;
        size_t length = source_line(report_texts(page->report), extent->source, at, &begin);
        struct text text = text_init(line, sizeof(line));
        text_add(&text, begin, length);
        json_doc_text(doc, NULL, line);
    }
    json_doc_close(doc);
}

static void put_place(const struct page *page, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace *trace = page->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    uint32_t path = stacks_get_source(stacks, label->source)->path;
    char text[PAGE_TEXT_MAX + 64];
    code_name(trace, ordinal, text, sizeof(text));
    page_put_text(page, doc, "name", text);
    code_file_location(trace, path, 0, text, sizeof(text));
    page_put_text(page, doc, "file", text);
    page_put_text(page, doc, "path", trace_string(trace, path)->bytes);
    json_doc_int(doc, "at", label->first_line);
    json_doc_text(doc, "owner", code_owner_name(code_owner_of(trace, ordinal)));
}

/* Returns how many lines it took. */
static uint32_t put_function(const struct page *page, struct json_doc *doc,
                             const struct line_count_function *function, uint32_t room)
{
    const struct line_counts *counts = report_line_counts(page->report);
    const struct line_count *lines;
    struct line_extent extent = line_counts_extent(counts, report_texts(page->report), function);
    uint32_t length = extent.last - extent.first + 1;
    bool has_text = extent.is_known && !page->options.no_source && length <= room;
    line_counts_lines(counts, &lines);
    json_doc_object(doc, NULL);
    put_place(page, doc, function->label);
    json_doc_uint(doc, "time_ns", function->time_ns);
    json_doc_uint(doc, "own_ns", function->self_ns);
    put_columns(doc, lines + function->begin, function->count);
    if (has_text)
        put_text(page, doc, &extent);
    json_doc_close(doc);
    return has_text ? length : function->count;
}

int page_put_counted(struct page *page, struct json_doc *doc)
{
    const struct line_counts *counts = report_line_counts(page->report);
    const struct line_count_function *functions;
    uint32_t count = counts ? line_counts_functions(counts, &functions) : 0, room = LINES_MAX;
    uint32_t i = 0;
    if (count == 0) {
        json_doc_null(doc, "counted");
        return 0;
    }
    json_doc_object(doc, "counted");
    json_doc_uint(doc, "own_ns", line_counts_self_ns(counts));
    json_doc_bool(doc, "self", line_counts_have_callees(counts));
    json_doc_array(doc, "functions");
    for (; i < count && i < FUNCTIONS_MAX && functions[i].count <= room; i++) {
        uint32_t taken = put_function(page, doc, &functions[i], room);
        room -= taken < room ? taken : room;
    }
    json_doc_close(doc);
    json_doc_uint(doc, "more", count - i);
    json_doc_close(doc);
    return 0;
}
