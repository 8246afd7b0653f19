/* SPDX-License-Identifier: MIT */
/* Sums weights by stack; lines are resolved once all samples are added. */
#include "line_stats.h"

#include "call_label.h"
#include "hash_map.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

struct line_stats {
    const struct trace *trace;
    const struct stacks *stacks;
    struct sample_weight weight;
    uint32_t stack_count;
    struct line_sums *sums; /* by stack; the first: samples without one */
    uint32_t *row_of_frame; /* 1 + index in `rows`; 0: not resolved */
    struct line_sums totals;
    const struct own_time *own; /* set by line_stats_finish() */
    bool with_waits;
    VEC(struct line_row) rows;
    VEC(struct file_line) files; /* the first is unused */
    struct map64 row_by_key, file_by_key;
    VEC(uint32_t) row_seen, file_seen; /* the last stack added there */
};

struct line_stats *line_stats_create(const struct trace *trace, struct sample_weight weight)
{
    struct line_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    stats->trace = trace;
    stats->stacks = trace_stacks_get(trace);
    stats->weight = weight;
    stats->stack_count = stacks_stack_count(stats->stacks);
    stats->sums = calloc((size_t)stats->stack_count + 1, sizeof(*stats->sums));
    stats->row_of_frame =
        calloc((size_t)stacks_frame_count(stats->stacks) + 1, sizeof(*stats->row_of_frame));
    if (stats->sums && stats->row_of_frame)
        return stats;
    line_stats_destroy(stats);
    return NULL;
}

void line_stats_destroy(struct line_stats *stats)
{
    if (!stats)
        return;
    free(stats->sums);
    free(stats->row_of_frame);
    vec_free(&stats->rows);
    vec_free(&stats->files);
    vec_free(&stats->row_seen);
    vec_free(&stats->file_seen);
    map64_free(&stats->row_by_key);
    map64_free(&stats->file_by_key);
    free(stats);
}

void line_stats_add(struct line_stats *stats, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(stats->trace);
    uint32_t stack = sample->stack < stats->stack_count ? sample->stack : 0;
    struct line_sums *sums = &stats->sums[stack];
    if (sample_weight_takes(stats->weight, sets, sample)) {
        sums->self_ns += sample_weight_of(stats->weight, sets, sample);
        sums->count += sample_weight_count(stats->weight, sample);
    }
    if (sample_role(sets, sample) != SAMPLE_ROLE_OFF_CPU)
        return;
    struct off_share off = sample_off_share(sets, sample);
    sums->blocked_ns += off.blocked_ns;
    sums->waits += off.blocked_ns > 0;
    sums->runnable_ns += off.runnable_ns;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns the row of a line of a file; 0: unknown file. -ENOMEM. */
static int64_t file_of(struct line_stats *stats, const struct call_place *place)
{
    uint32_t source = stacks_get_label(stats->stacks, place->label)->source;
    uint64_t key = (uint64_t)source << 32 | (uint32_t)place->line;
    if (source == 0 || place->line <= 0)
        return 0;
    const uint64_t *found = map64_find(&stats->file_by_key, key);
    if (found)
        return (int64_t)*found;
    const struct file_line fresh = {.source = source, .line = place->line};
    uint64_t index = stats->files.count;
    if (vec_push(&stats->files, fresh) != 0 || vec_push(&stats->file_seen, 0) != 0 ||
        map64_put(&stats->file_by_key, key, index) != 0)
        return -ENOMEM;
    return (int64_t)index;
}

static int64_t make_row(struct line_stats *stats, const struct call_place *place)
{
    int32_t line = place->line > 0 ? place->line : 0;
    uint64_t key = ((uint64_t)place->label << 32 | (uint32_t)line) + 1;
    const uint64_t *found = map64_find(&stats->row_by_key, key);
    int64_t file = found ? 0 : file_of(stats, place);
    if (found || file < 0)
        return found ? (int64_t)*found : file;
    const struct line_row fresh = {
        .label = place->label, .line = line, .file_line = (uint32_t)file};
    uint64_t index = stats->rows.count;
    if (vec_push(&stats->rows, fresh) != 0 || vec_push(&stats->row_seen, 0) != 0 ||
        map64_put(&stats->row_by_key, key, index) != 0)
        return -ENOMEM;
    return (int64_t)index;
}

static int64_t row_of(struct line_stats *stats, uint32_t ordinal)
{
    uint32_t *known = &stats->row_of_frame[ordinal];
    const struct frame *frame = stacks_get_frame(stats->stacks, ordinal);
    if (*known != 0)
        return *known - 1;
    int64_t row = make_row(stats, &(struct call_place){frame->label, frame->line});
    if (row >= 0)
        *known = (uint32_t)row + 1;
    return row;
}

/* Returns the frame to which a stack's samples belong; 0: no frames. */
static uint32_t counted_frame(const struct line_stats *stats, uint32_t stack)
{
    uint32_t leaf = stacks_get_stack(stats->stacks, stack)->frame, lined = 0;
    for (; stack != 0; stack = stacks_get_stack(stats->stacks, stack)->parent) {
        uint32_t ordinal = stacks_get_stack(stats->stacks, stack)->frame;
        const struct frame *frame = stacks_get_frame(stats->stacks, ordinal);
        if (frame->kind == FRAME_PYTHON)
            return ordinal;
        if (lined == 0 && frame->line > 0)
            lined = ordinal;
    }
    return lined ? lined : leaf;
}

static void add_self(struct line_sums *to, const struct line_sums *sums)
{
    to->self_ns += sums->self_ns;
    to->count += sums->count;
    to->blocked_ns += sums->blocked_ns;
    to->waits += sums->waits;
    to->runnable_ns += sums->runnable_ns;
}

static void add_total(struct line_stats *stats, uint32_t row, uint32_t stack, uint64_t time_ns)
{
    struct line_row *at = &stats->rows.items[row];
    if (stats->row_seen.items[row] != stack)
        at->sums.total_ns += time_ns;
    stats->row_seen.items[row] = stack;
    if (at->file_line == 0)
        return;
    if (stats->file_seen.items[at->file_line] != stack)
        stats->files.items[at->file_line].sums.total_ns += time_ns;
    stats->file_seen.items[at->file_line] = stack;
}

static int take_stack(struct line_stats *stats, uint32_t stack)
{
    const struct line_sums *sums = &stats->sums[stack];
    int64_t row = row_of(stats, counted_frame(stats, stack));
    add_self(&stats->totals, sums);
    if (row < 0)
        return (int)row;
    add_self(&stats->rows.items[row].sums, sums);
    if (stats->rows.items[row].file_line)
        add_self(&stats->files.items[stats->rows.items[row].file_line].sums, sums);
    if (stack == 0)
        add_total(stats, (uint32_t)row, UINT32_MAX, sums->self_ns);
    for (uint32_t at = stack; at != 0 && sums->self_ns > 0;
         at = stacks_get_stack(stats->stacks, at)->parent) {
        row = row_of(stats, stacks_get_stack(stats->stacks, at)->frame);
        if (row < 0)
            return (int)row;
        add_total(stats, (uint32_t)row, stack, sums->self_ns);
    }
    return 0;
}

static void add_times(struct own_times *to, const struct own_times *times)
{
    to->cpu_ns += times->cpu_ns;
    to->runnable_ns += times->runnable_ns;
    to->blocked_ns += times->blocked_ns;
    to->sample_count += times->sample_count;
}

/* Adds the times to the line of the innermost own function; without one, to the line that has all
 * of the stack's samples. */
static int take_own(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct line_stats *stats = context;
    struct call_place place = {0};
    uint32_t at = own_time_row_of(stats->own, moment->stack, &place.line);
    place.label = at == UINT32_MAX ? 0 : own_time_row(stats->own, at)->label;
    int64_t index =
        place.label ? make_row(stats, &place) : row_of(stats, counted_frame(stats, moment->stack));
    if (index < 0)
        return (int)index;
    struct line_row *row = &stats->rows.items[index];
    row->is_own = row->is_own || place.label != 0;
    add_times(&row->own, times);
    if (row->file_line)
        add_times(&stats->files.items[row->file_line].own, times);
    return 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int most_first(const void *left, const void *right, void *context)
{
    const struct line_row *a = left, *b = right;
    const struct line_stats *stats = context;
    bool by_value = stats->weight.set != 0, waits = stats->with_waits;
    int order = (a->label == 0) - (b->label == 0);
    if (order == 0 && !by_value)
        order = b->is_own - a->is_own;
    if (order == 0 && !by_value)
        order = compare(line_time_ns(&a->own, waits), line_time_ns(&b->own, waits));
    if (order == 0 && !by_value)
        order = compare(a->own.blocked_ns, b->own.blocked_ns);
    if (order == 0)
        order = compare(a->sums.self_ns, b->sums.self_ns);
    if (order == 0)
        order = call_compare_labels(stats->trace, a->label, b->label);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_place(const void *left, const void *right)
{
    const struct file_line *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* A stack at which a thread was only preempted has neither time nor waits. */
static bool has_samples(const struct line_sums *sums)
{
    return sums->count > 0 || sums->waits > 0 || sums->runnable_ns > 0;
}

/* Sorting the rows makes their `file_line` invalid; it is not used after that. */
int line_stats_finish(struct line_stats *stats, const struct own_time *own, bool with_waits)
{
    const struct file_line none = {0};
    int error = vec_push(&stats->files, none) || vec_push(&stats->file_seen, 0) ? -ENOMEM : 0;
    for (uint32_t stack = 0; stack < stats->stack_count && !error; stack++)
        if (has_samples(&stats->sums[stack]))
            error = take_stack(stats, stack);
    stats->own = own;
    stats->with_waits = with_waits;
    if (!error)
        error = own_time_each(own, take_own, stats);
    if (error)
        return error;
    stats->totals.total_ns = stats->totals.self_ns;
    if (stats->rows.count > 0)
        qsort_r(stats->rows.items, stats->rows.count, sizeof(*stats->rows.items), most_first,
                stats);
    qsort(stats->files.items, stats->files.count, sizeof(*stats->files.items), by_place);
    return 0;
}

const struct line_sums *line_stats_totals(const struct line_stats *stats)
{
    return &stats->totals;
}

const struct line_sums *line_stats_stack(const struct line_stats *stats, uint32_t stack)
{
    return &stats->sums[stack];
}

uint32_t line_stats_rows(const struct line_stats *stats, const struct line_row **ret_rows)
{
    *ret_rows = stats->rows.items;
    return (uint32_t)stats->rows.count;
}

uint32_t line_stats_files(const struct line_stats *stats, const struct file_line **ret_lines)
{
    *ret_lines = stats->files.items + 1;
    return (uint32_t)stats->files.count - 1;
}

/* As take_own(). */
bool line_stats_own_line(const struct line_stats *stats, uint32_t stack, uint32_t *ret_source,
                         int32_t *ret_line)
{
    uint32_t row = own_time_row_of(stats->own, stack, ret_line), label = 0;
    if (row != UINT32_MAX)
        label = own_time_row(stats->own, row)->label;
    if (label == 0) {
        const struct frame *frame = stacks_get_frame(stats->stacks, counted_frame(stats, stack));
        label = frame->label;
        *ret_line = frame->line;
    }
    *ret_source = stacks_get_label(stats->stacks, label)->source;
    return *ret_source != 0 && *ret_line > 0;
}

/* ---- Texts of sources ------------------------------------------------------------------------ */

struct text_lines {
    uint32_t *begins; /* of each line, and where the text ends */
    uint32_t count;
    bool known;
};

struct source_texts {
    const struct trace *trace;
    uint32_t count;
    struct text_lines items[]; /* by source */
};

struct source_texts *source_texts_create(const struct trace *trace)
{
    uint32_t count = stacks_source_count(trace_stacks_get(trace));
    struct source_texts *texts =
        calloc(1, sizeof(*texts) + (size_t)count * sizeof(texts->items[0]));
    if (!texts)
        return NULL;
    texts->trace = trace;
    texts->count = count;
    return texts;
}

void source_texts_destroy(struct source_texts *texts)
{
    for (uint32_t i = 0; texts && i < texts->count; i++)
        free(texts->items[i].begins);
    free(texts);
}

static const struct trace_string *content_of(const struct source_texts *texts, uint32_t source)
{
    return trace_string(texts->trace,
                        stacks_get_source(trace_stacks_get(texts->trace), source)->content);
}

static void find_lines(struct text_lines *lines, const struct trace_string *content)
{
    uint32_t count = content->length > 0;
    for (uint32_t i = 0; i + 1 < content->length; i++)
        count += content->bytes[i] == '\n';
    lines->known = true;
    lines->begins = malloc(((size_t)count + 1) * sizeof(*lines->begins));
    if (!lines->begins)
        return;
    lines->begins[0] = 0;
    for (uint32_t i = 0; i + 1 < content->length; i++)
        if (content->bytes[i] == '\n')
            lines->begins[++lines->count] = i + 1;
    lines->count = count;
    lines->begins[count] = content->length;
}

uint32_t source_line_count(struct source_texts *texts, uint32_t source)
{
    if (source == 0 || source >= texts->count ||
        stacks_get_source(trace_stacks_get(texts->trace), source)->content == 0)
        return 0;
    if (!texts->items[source].known)
        find_lines(&texts->items[source], content_of(texts, source));
    return texts->items[source].count;
}

size_t source_line(struct source_texts *texts, uint32_t source, uint32_t line,
                   const char **ret_text)
{
    *ret_text = "";
    if (line == 0 || line > source_line_count(texts, source))
        return 0;
    const struct text_lines *lines = &texts->items[source];
    const char *bytes = content_of(texts, source)->bytes;
    uint32_t begin = lines->begins[line - 1], end = lines->begins[line];
    while (end > begin && (bytes[end - 1] == '\n' || bytes[end - 1] == '\r'))
        end--;
    *ret_text = bytes + begin;
    return end - begin;
}
