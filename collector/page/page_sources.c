/* SPDX-License-Identifier: MIT */
/* The text of source files with the time of each line: the hottest files, and for long ones the
 * part around their hottest lines. */
#include "page_sources.h"

#include "code_owner.h"
#include "line_counts.h"
#include "line_stats.h"
#include "page_data.h"
#include "page_model.h"
#include "report.h"
#include "report_lines.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

enum {
    LINES_MAX = 4000, /* in all files */
    FILE_LINES_MAX = 400,
    FILES_MAX = 60,
    AROUND = 12,
    LINE_BYTES = 300,
};

struct hot_file {
    uint32_t source;
    size_t first, count; /* its lines */
    uint64_t time_ns;
};

/* CPU time is weighted higher than waits. */
static uint64_t heat_of(const struct file_line *line)
{
    return line->own.cpu_ns * 4 + line->own.blocked_ns + line->own.runnable_ns;
}

static int hottest_first(const void *left, const void *right)
{
    const struct hot_file *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->source < b->source ? -1 : 1;
}

/* `lines` is sorted by file. */
static size_t find_files(const struct page *page, const struct file_line *lines, uint32_t count,
                         struct hot_file *files)
{
    struct source_texts *texts = report_texts(page->report);
    size_t found = 0;
    for (uint32_t i = 0; i < count;) {
        struct hot_file file = {.source = lines[i].source, .first = i};
        for (; i < count && lines[i].source == file.source; i++) {
            file.time_ns += heat_of(&lines[i]);
            file.count++;
        }
        if (file.time_ns > 0 && source_line_count(texts, file.source) > 0)
            files[found++] = file;
    }
    qsort(files, found, sizeof(*files), hottest_first);
    return found;
}

struct part {
    uint32_t first, last; /* lines, from 1 */
};

/* All of a short file; else a part around the hottest line, as far as `room` allows and lines have
 * time. */
static struct part find_part(const struct file_line *lines, const struct hot_file *file,
                             uint32_t line_count, uint32_t room)
{
    uint32_t most = room < FILE_LINES_MAX ? room : FILE_LINES_MAX;
    if (line_count <= most)
        return (struct part){1, line_count};
    const struct file_line *hottest = &lines[file->first];
    for (size_t i = 0; i < file->count; i++)
        if (heat_of(&lines[file->first + i]) > heat_of(hottest))
            hottest = &lines[file->first + i];
    int64_t first = hottest->line, last = hottest->line;
    for (size_t i = 0; i < file->count; i++) {
        int64_t line = lines[file->first + i].line;
        int64_t low = line < first ? line : first, high = line > last ? line : last;
        if (line > 0 && heat_of(&lines[file->first + i]) > 0 && high - low < most - 2 * AROUND) {
            first = low;
            last = high;
        }
    }
    first = first < line_count ? first : line_count; /* the text may be of a different version */
    first = first > AROUND ? first - AROUND : 1;
    last = last + AROUND < line_count ? last + AROUND : line_count;
    return (struct part){(uint32_t)first, (uint32_t)last};
}

enum column { LINE_CPU, LINE_WAIT, LINE_RUNNABLE, LINE_HITS };

struct file_lines {
    const struct file_line *items;
    size_t count;
};

static void put_column(struct json_doc *doc, const char *key, enum column column,
                       const struct file_lines *lines, const struct part *part)
{
    size_t at = 0;
    json_doc_array(doc, key);
    while (at < lines->count && lines->items[at].line < (int64_t)part->first)
        at++;
    for (int64_t line = part->first; line <= part->last; line++) {
        bool known = at < lines->count && lines->items[at].line == line;
        const struct own_times *own = known ? &lines->items[at++].own : NULL;
        json_doc_uint(doc, NULL,
                      !own                      ? 0
                      : column == LINE_CPU      ? own->cpu_ns
                      : column == LINE_WAIT     ? own->blocked_ns
                      : column == LINE_RUNNABLE ? own->runnable_ns
                                                : own->sample_count);
    }
    json_doc_close(doc);
}

static void put_text(const struct page *page, struct json_doc *doc, uint32_t source,
                     const struct part *part)
{
    char line[LINE_BYTES + 1];
    json_doc_array(doc, "text");
    for (uint32_t at = part->first; at <= part->last; at++) {
        const char *begin;
        size_t length = source_line(report_texts(page->report), source, at, &begin);
        struct text text = text_init(line, sizeof(line));
        text_add(&text, begin, length);
        json_doc_text(doc, NULL, line);
    }
    json_doc_close(doc);
}

/* Returns the number of lines written. */
static uint32_t put_file(const struct page *page, struct json_doc *doc,
                         const struct file_line *lines, const struct hot_file *file, uint32_t room)
{
    const struct stacks *stacks = trace_stacks_get(page->trace);
    uint32_t path = stacks_get_source(stacks, file->source)->path;
    uint32_t count = source_line_count(report_texts(page->report), file->source);
    struct part part = find_part(lines, file, count, room);
    const struct file_lines hit = {lines + file->first, file->count};
    char name[PAGE_TEXT_MAX];
    code_file_location(page->trace, path, 0, name, sizeof(name));
    json_doc_object(doc, NULL);
    json_doc_text(doc, "file", name);
    page_put_text(page, doc, "path", trace_string(page->trace, path)->bytes);
    json_doc_uint(doc, "id", file->source);
    json_doc_uint(doc, "first", part.first);
    json_doc_uint(doc, "lines", count);
    put_text(page, doc, file->source, &part);
    put_column(doc, "cpu_ns", LINE_CPU, &hit, &part);
    put_column(doc, "blocked_ns", LINE_WAIT, &hit, &part);
    put_column(doc, "runnable_ns", LINE_RUNNABLE, &hit, &part);
    put_column(doc, "hits", LINE_HITS, &hit, &part);
    json_doc_close(doc);
    return part.last - part.first + 1;
}

static int put_files(const struct page *page, struct json_doc *doc, const struct file_line *lines,
                     uint32_t count)
{
    struct hot_file *files = calloc((size_t)count + 1, sizeof(*files));
    uint32_t room = LINES_MAX;
    size_t found = files ? find_files(page, lines, count, files) : 0;
    for (size_t i = 0; i < found && i < FILES_MAX && room > 2 * AROUND; i++)
        room -= put_file(page, doc, lines, &files[i], room);
    int error = files ? 0 : -ENOMEM;
    free(files);
    return error;
}

int page_put_sources(struct page *page, struct json_doc *doc)
{
    const struct line_stats *stats = report_lines(page->report);
    const struct file_line *lines = NULL;
    uint32_t count = stats && !page->options.no_source ? line_stats_files(stats, &lines) : 0;
    json_doc_array(doc, "sources");
    int error = count > 0 ? put_files(page, doc, lines, count) : 0;
    json_doc_close(doc);
    return error;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The line of a stack's time, as in annot report --source. */

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

/* Writes lines by number; null if time is not split by lines. */
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

/* ---- Counted lines --------------------------------------------------------------------------- */

/* Counted lines by function with their text, as in annot report --source. Own functions come first,
 * then those with the most time. */

enum { COUNTED_LINES_MAX = 4000, FUNCTIONS_MAX = 500 };

enum counted_column { COUNTED_LINE, COUNTED_HITS, COUNTED_TIME, COUNTED_SELF, COUNTED_COLUMNS };

static const char *const keys[COUNTED_COLUMNS] = {"line", "hits", "ns", "self_ns"};

static int64_t counted_value(const struct line_count *line, enum counted_column column)
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
    for (enum counted_column column = 0; column < COUNTED_COLUMNS; column++) {
        json_doc_array(doc, keys[column]);
        for (uint32_t i = 0; i < count; i++)
            json_doc_int(doc, NULL, counted_value(&lines[i], column));
        json_doc_close(doc);
    }
}

static void put_counted_text(const struct page *page, struct json_doc *doc,
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

/* Returns the number of lines written. */
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
    json_doc_uint(doc, "total_ns", function->time_ns);
    json_doc_uint(doc, "own_ns", function->self_ns);
    put_columns(doc, lines + function->begin, function->count);
    if (has_text)
        put_counted_text(page, doc, &extent);
    json_doc_close(doc);
    return has_text ? length : function->count;
}

int page_put_counted(struct page *page, struct json_doc *doc)
{
    const struct line_counts *counts = report_line_counts(page->report);
    const struct line_count_function *functions;
    uint32_t count = counts ? line_counts_functions(counts, &functions) : 0,
             room = COUNTED_LINES_MAX;
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
