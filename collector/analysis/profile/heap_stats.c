/* SPDX-License-Identifier: MIT */
/* Implements heap_stats.h: sums by row while the pass runs; then the changes in order of time. */
#include "heap_stats.h"

#include "code_owner.h"
#include "hash_map.h"
#include "sample.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct change {
    int64_t time_ns, bytes;
    uint32_t row;
};

struct heap_stats {
    const struct trace *trace;
    struct wide_map index; /* process, label, line -> row */
    VEC(struct heap_row) rows;
    VEC(struct change) changes;
    VEC(uint32_t) copied; /* by row: number of the peak whose bytes it has in `peak` */
    uint8_t *owners;      /* by label: 1 + enum code_owner; 0: not asked */
    uint32_t owner_count;
    struct heap_totals totals;
};

struct heap_stats *heap_stats_create(const struct trace *trace)
{
    struct heap_stats *stats = calloc(1, sizeof(*stats));
    if (stats)
        stats->trace = trace;
    return stats;
}

void heap_stats_destroy(struct heap_stats *stats)
{
    if (!stats)
        return;
    wide_map_free(&stats->index);
    vec_free(&stats->rows);
    vec_free(&stats->changes);
    vec_free(&stats->copied);
    free(stats->owners);
    free(stats);
}

bool heap_stats_any(const struct trace *trace)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_FIXED; i < sample_sets_count(sets); i++)
        if (sample_set_get(sets, i)->flags & SAMPLE_SET_HEAP)
            return true;
    return false;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static enum code_owner owner_of(struct heap_stats *stats, uint32_t label)
{
    if (label >= stats->owner_count) {
        uint32_t count = stacks_label_count(trace_stacks_get(stats->trace));
        uint8_t *owners = label < count ? realloc(stats->owners, count) : NULL;
        if (!owners)
            return code_owner_of(stats->trace, label);
        memset(owners + stats->owner_count, 0, count - stats->owner_count);
        stats->owners = owners;
        stats->owner_count = count;
    }
    if (stats->owners[label] == 0)
        stats->owners[label] = (uint8_t)(1 + code_owner_of(stats->trace, label));
    return (enum code_owner)(stats->owners[label] - 1);
}

/* The frame that stands for the allocation; NULL: none. */
static const struct frame *frame_of(struct heap_stats *stats, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(stats->trace);
    const struct frame *python = NULL, *leaf = NULL;
    while (stack) {
        const struct stack *node = stacks_get_stack(stacks, stack);
        const struct frame *frame = stacks_get_frame(stacks, node->frame);
        enum code_owner owner = owner_of(stats, frame->label);
        if (owner == CODE_OWN)
            return frame;
        if (!python && frame->kind == FRAME_PYTHON)
            python = frame;
        if (!leaf && owner != CODE_ANNOT)
            leaf = frame;
        stack = node->parent;
    }
    return python ? python : leaf;
}

static int64_t row_of(struct heap_stats *stats, const struct sample *sample)
{
    uint32_t process = trace_thread_get(stats->trace, sample->thread)->process;
    const struct frame *frame = frame_of(stats, sample->stack);
    struct heap_row row = {
        .process = process, .label = frame ? frame->label : 0, .line = frame ? frame->line : 0};
    const struct wide_key *key = WIDE_KEY(process, row.label, (uint32_t)row.line);
    const uint64_t *found = wide_map_find(&stats->index, key);
    if (found)
        return (int64_t)*found;
    int error = wide_map_put(&stats->index, key, stats->rows.count);
    if (!error)
        error = vec_push(&stats->rows, row);
    if (!error)
        error = vec_push(&stats->copied, (uint32_t)0);
    return error ? error : (int64_t)stats->rows.count - 1;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int take(void *context, const struct item *item)
{
    struct heap_stats *stats = context;
    const struct sample_sets *sets = trace_sets_get(stats->trace);
    if (item->kind != ITEM_SAMPLE ||
        !(sample_set_get(sets, item->sample->set)->flags & SAMPLE_SET_HEAP))
        return 0;
    int64_t allocated = sample_value(sets, item->sample, VALUE_TYPE_ALLOC_BYTES);
    int64_t freed = sample_value(sets, item->sample, VALUE_TYPE_FREE_BYTES);
    int64_t objects = sample_value(sets, item->sample, VALUE_TYPE_ALLOC_OBJECTS);
    int64_t index = row_of(stats, item->sample);
    if (index < 0)
        return (int)index;
    struct heap_row *row = &stats->rows.items[index];
    row->allocated += (uint64_t)allocated;
    row->objects += (uint64_t)objects;
    row->freed += (uint64_t)freed;
    stats->totals.samples += allocated > 0;
    stats->totals.allocated += (uint64_t)allocated;
    stats->totals.objects += (uint64_t)objects;
    const struct change change = {item->sample->time_ns, allocated - freed, (uint32_t)index};
    return vec_push(&stats->changes, change);
}

struct sink heap_stats_sink(struct heap_stats *stats)
{
    return (struct sink){take, stats, WANT_SAMPLES};
}

/* ---- In order of time ------------------------------------------------------------------------ */

/* At equal times allocations come first: a block is freed after it was allocated. */
static int earlier_first(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

struct replay {
    struct heap_stats *stats;
    int64_t live;
    uint32_t peak; /* number of the last peak; 0: none yet */
};

/* A row's bytes at a peak are copied at its first change after it. */
static void change_row(struct replay *replay, uint32_t index, int64_t bytes)
{
    struct heap_stats *stats = replay->stats;
    struct heap_row *row = &stats->rows.items[index];
    if (stats->copied.items[index] != replay->peak) {
        stats->copied.items[index] = replay->peak;
        row->peak = row->live;
    }
    row->live += bytes;
    replay->live += bytes;
}

static void apply(struct replay *replay, const struct change *change)
{
    struct heap_totals *totals = &replay->stats->totals;
    change_row(replay, change->row, change->bytes);
    if (replay->live <= totals->peak)
        return;
    totals->peak = replay->live;
    totals->peak_ns = change->time_ns;
    replay->peak++;
}

/* Processes that ended, as changes that take back what their rows hold then. */
static int add_ends(struct heap_stats *stats)
{
    int error = 0;
    for (uint32_t i = 0; i < stats->rows.count && !error; i++) {
        const struct trace_process *process =
            trace_process_get(stats->trace, stats->rows.items[i].process);
        const struct change end = {process->end_ns, 0, i};
        if (process->end_ns > 0)
            error = vec_push(&stats->changes, end);
    }
    return error;
}

static int most_first(const void *left, const void *right)
{
    const struct heap_row *a = left, *b = right;
    if (a->peak != b->peak)
        return a->peak < b->peak ? 1 : -1;
    if (a->allocated != b->allocated)
        return a->allocated < b->allocated ? 1 : -1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

int heap_stats_finish(struct heap_stats *stats)
{
    struct replay replay = {.stats = stats};
    int error = add_ends(stats);
    if (error)
        return error;
    if (stats->changes.count > 0)
        qsort(stats->changes.items, stats->changes.count, sizeof(struct change), earlier_first);
    for (size_t i = 0; i < stats->changes.count; i++) {
        const struct change *change = &stats->changes.items[i];
        struct heap_row *row = &stats->rows.items[change->row];
        struct change end = *change;
        if (change->bytes == 0) /* the process has ended */
            end.bytes = -row->live;
        apply(&replay, &end);
    }
    for (uint32_t i = 0; i < stats->rows.count; i++)
        change_row(&replay, i, 0);
    vec_free(&stats->changes);
    if (stats->rows.count > 0)
        qsort(stats->rows.items, stats->rows.count, sizeof(struct heap_row), most_first);
    return 0;
}

uint32_t heap_stats_rows(const struct heap_stats *stats, const struct heap_row **ret_rows)
{
    *ret_rows = stats->rows.items;
    return (uint32_t)stats->rows.count;
}

const struct heap_totals *heap_stats_totals(const struct heap_stats *stats)
{
    return &stats->totals;
}
