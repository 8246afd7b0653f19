/* SPDX-License-Identifier: MIT */
/* Each sample of the set holds the counts of one line of one thread in an interval. */
#include "line_counts.h"

#include "call_label.h"
#include "code_owner.h"
#include "hash_map.h"
#include "line_stats.h"
#include "sample.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct line_counts {
    const struct trace *trace;
    VEC(struct line_count) lines;
    VEC(struct line_count_function) functions;
    struct map64 line_by_key;       /* 1 + index */
    struct map64 function_by_label; /* the same */
    uint64_t self_ns, callees_ns;
};

bool line_counts_any(const struct trace *trace)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    bool any = false;
    for (unsigned i = 0; i < sample_sets_count(sets); i++)
        any = any || sample_set_get(sets, i)->role == SAMPLE_ROLE_LINES;
    return any;
}

struct line_counts *line_counts_create(const struct trace *trace)
{
    struct line_counts *counts = calloc(1, sizeof(*counts));
    if (counts)
        counts->trace = trace;
    return counts;
}

void line_counts_destroy(struct line_counts *counts)
{
    if (!counts)
        return;
    vec_free(&counts->lines);
    vec_free(&counts->functions);
    map64_free(&counts->line_by_key);
    map64_free(&counts->function_by_label);
    free(counts);
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct line_count *line_of(struct line_counts *counts, const struct frame *frame)
{
    uint64_t key = ((uint64_t)frame->label << 32 | (uint32_t)frame->line) + 1;
    const uint64_t *found = map64_find(&counts->line_by_key, key);
    const struct line_count fresh = {.label = frame->label, .line = frame->line};
    if (found)
        return &counts->lines.items[*found - 1];
    if (vec_push(&counts->lines, fresh) != 0 ||
        map64_put(&counts->line_by_key, key, counts->lines.count) != 0)
        return NULL;
    return &counts->lines.items[counts->lines.count - 1];
}

static uint64_t value_of(const struct sample_sets *sets, const struct sample *sample, unsigned type)
{
    int index = sample_set_index(sample_set_get(sets, sample->set), type);
    int64_t value = index >= 0 && index < sample->value_count ? sample->values[index] : 0;
    return value > 0 ? (uint64_t)value : 0;
}

static int take(void *context, const struct item *item)
{
    struct line_counts *counts = context;
    const struct sample *sample = item->sample;
    const struct sample_sets *sets = trace_sets_get(counts->trace);
    const struct stacks *stacks = trace_stacks_get(counts->trace);
    if (sample_role(sets, sample) != SAMPLE_ROLE_LINES || sample->stack == 0 ||
        sample->stack >= stacks_stack_count(stacks))
        return 0;
    uint32_t ordinal = stacks_get_stack(stacks, sample->stack)->frame;
    struct line_count *line = line_of(counts, stacks_get_frame(stacks, ordinal));
    if (!line)
        return -ENOMEM;
    line->hits += value_of(sets, sample, VALUE_TYPE_CALLS);
    line->time_ns += value_of(sets, sample, VALUE_TYPE_WALL);
    line->callees_ns += value_of(sets, sample, VALUE_TYPE_CALLEE_TIME);
    return 0;
}

struct sink line_counts_sink(struct line_counts *counts)
{
    return (struct sink){take, counts, WANT_SAMPLES};
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Also adds the numbers of the line. NULL: out of memory. */
static struct line_count_function *function_of(struct line_counts *counts, uint32_t label)
{
    const uint64_t *found = map64_find(&counts->function_by_label, (uint64_t)label + 1);
    const struct line_count_function fresh = {
        .label = label, .is_own = code_owner_of(counts->trace, label) == CODE_OWN};
    if (found)
        return &counts->functions.items[*found - 1];
    if (vec_push(&counts->functions, fresh) != 0 ||
        map64_put(&counts->function_by_label, (uint64_t)label + 1, counts->functions.count) != 0)
        return NULL;
    return &counts->functions.items[counts->functions.count - 1];
}

static int most_first(const void *left, const void *right, void *context)
{
    const struct line_count_function *a = left, *b = right;
    const struct line_counts *counts = context;
    if (a->is_own != b->is_own)
        return a->is_own ? -1 : 1;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    return call_compare_labels(counts->trace, a->label, b->label);
}

/* The map of functions holds their sorted positions by now. */
static int by_place(const void *left, const void *right, void *context)
{
    const struct line_count *a = left, *b = right;
    struct line_counts *counts = context;
    uint64_t first = *map64_find(&counts->function_by_label, (uint64_t)a->label + 1);
    uint64_t second = *map64_find(&counts->function_by_label, (uint64_t)b->label + 1);
    if (first != second)
        return first < second ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void sort_functions(struct line_counts *counts)
{
    qsort_r(counts->functions.items, counts->functions.count, sizeof(*counts->functions.items),
            most_first, counts);
    for (uint32_t i = 0; i < counts->functions.count; i++)
        /* the key exists, so this cannot fail */
        (void)map64_put(&counts->function_by_label, (uint64_t)counts->functions.items[i].label + 1,
                        (uint64_t)i + 1);
}

int line_counts_finish(struct line_counts *counts)
{
    for (uint32_t i = 0; i < counts->lines.count; i++) {
        const struct line_count *line = &counts->lines.items[i];
        struct line_count_function *function = function_of(counts, line->label);
        if (!function)
            return -ENOMEM;
        function->count++;
        function->hits += line->hits;
        function->time_ns += line->time_ns;
        function->self_ns += line_count_self_ns(line);
        counts->self_ns += line_count_self_ns(line);
        counts->callees_ns += line->callees_ns;
    }
    if (counts->lines.count == 0)
        return 0;
    sort_functions(counts);
    qsort_r(counts->lines.items, counts->lines.count, sizeof(*counts->lines.items), by_place,
            counts);
    uint32_t begin = 0;
    for (uint32_t i = 0; i < counts->functions.count; i++) {
        counts->functions.items[i].begin = begin;
        begin += counts->functions.items[i].count;
    }
    return 0;
}

uint32_t line_counts_functions(const struct line_counts *counts,
                               const struct line_count_function **ret_functions)
{
    *ret_functions = counts->functions.items;
    return (uint32_t)counts->functions.count;
}

uint32_t line_counts_lines(const struct line_counts *counts, const struct line_count **ret_lines)
{
    *ret_lines = counts->lines.items;
    return (uint32_t)counts->lines.count;
}

uint64_t line_counts_self_ns(const struct line_counts *counts)
{
    return counts->self_ns;
}

bool line_counts_have_callees(const struct line_counts *counts)
{
    return counts->callees_ns > 0;
}

const struct trace *line_counts_trace(const struct line_counts *counts)
{
    return counts->trace;
}

/* ---- Extents ----------------------------------------------------------------------------------
 *
 * From the function's first line on, up to the end of the indented lines after the last one that
 * ran. */

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
