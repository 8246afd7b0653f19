/* SPDX-License-Identifier: MIT */
/* The text of a function with counted lines: from its first line on, up to the end of the indented
 * lines after the last one that ran. */
#include "line_counts.h"

#include "call_label.h"
#include "code_owner.h"
#include "line_stats.h"
#include "stacks.h"

#include <string.h>

static size_t indent_of(const char *text, size_t length)
{
    size_t indent = 0;
    while (indent < length && (text[indent] == ' ' || text[indent] == '\t'))
        indent++;
    return indent;
}

static bool begins_with(const char *text, size_t length, const char *word)
{
    return length >= strlen(word) && strncmp(text, word, strlen(word)) == 0;
}

/* Returns the indentation of "def", after decorators; -1: not a function of several lines. */
static int64_t find_head(struct source_texts *texts, const struct line_extent *extent)
{
    for (uint32_t line = extent->first; line > 0 && line <= extent->last; line++) {
        const char *text;
        size_t length = source_line(texts, extent->source, line, &text);
        size_t indent = indent_of(text, length);
        if (begins_with(text + indent, length - indent, "def ") ||
            begins_with(text + indent, length - indent, "async "))
            return (int64_t)indent;
    }
    return -1;
}

static uint32_t find_end(struct source_texts *texts, const struct line_extent *extent,
                         size_t indent)
{
    uint32_t end = extent->last, count = source_line_count(texts, extent->source);
    for (uint32_t line = end + 1; line <= count; line++) {
        const char *text;
        size_t length = source_line(texts, extent->source, line, &text);
        size_t at = indent_of(text, length);
        if (at == length || text[at] == '#')
            continue;
        if (at <= indent && !strchr(")]}", text[at]))
            break;
        end = line;
    }
    return end;
}

struct line_extent line_counts_extent(const struct line_counts *counts, struct source_texts *texts,
                                      const struct line_count_function *function)
{
    const struct trace *trace = line_counts_trace(counts);
    const struct label *label = stacks_get_label(trace_stacks_get(trace), function->label);
    const struct line_count *lines;
    char name[CALL_LABEL_SIZE];
    line_counts_lines(counts, &lines);
    lines += function->begin;
    struct line_extent extent = {.source = label->source,
                                 .first = (uint32_t)lines[0].line,
                                 .last = (uint32_t)lines[function->count - 1].line};
    if (label->first_line > 0 && label->first_line < lines[0].line)
        extent.first = (uint32_t)label->first_line;
    extent.is_known = source_line_count(texts, extent.source) > 0;
    code_name(trace, function->label, name, sizeof(name));
    int64_t indent = strcmp(name, "<module>") == 0 ? -1 : find_head(texts, &extent);
    extent.is_function = indent >= 0;
    if (extent.is_function)
        extent.last = find_end(texts, &extent, (size_t)indent);
    return extent;
}
