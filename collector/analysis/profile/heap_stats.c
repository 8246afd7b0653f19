/* SPDX-License-Identifier: MIT */
/* Implements heap_stats.h: samples wait in a buffer until they can be replayed in order of time. */
#include "heap_stats.h"

#include "code_owner.h"
#include "hash_map.h"
#include "reader.h"
#include "sample.h"
#include "sample_weight.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Samples that wait. Half of them are replayed when there are so many: a sample that comes so much
 * later than later ones counts at a wrong time only. */
enum { CHANGES_MAX = 1 << 18, NO_ROW = UINT32_MAX };

/* An allocation or a free. */
struct change {
    int64_t time_ns, bytes;
    double variance;
    uint32_t row, path;
};

/* Live bytes of a row while the changes are replayed. */
struct live {
    int64_t bytes;
    double variance;
    uint32_t copied; /* number of the peak whose bytes the row has in `peak` */
    uint32_t next;   /* of the same process; NO_ROW: the last */
};

struct process_rows {
    uint32_t first; /* NO_ROW: without rows */
    bool ended;
    int64_t live, peak, peak_ns; /* bytes of its rows */
};

/* The end of a process, in order of time. */
struct ending {
    int64_t time_ns;
    uint32_t process;
};

struct heap_stats {
    const struct trace *trace;
    struct wide_map index; /* process, label, line -> row */
    VEC(struct heap_row) rows, places;
    VEC(struct heap_process) sums; /* by process */
    VEC(struct live) lives;        /* by row */
    VEC(struct change) changes;
    VEC(struct ending) ends;
    size_t next_end;
    struct process_rows *processes;
    uint8_t *owners; /* by label: 1 + enum code_owner; 0: not asked */
    uint32_t owner_count;
    struct heap_totals totals;
    int64_t live;  /* bytes of all rows */
    int64_t at_ns; /* of the window */
    uint32_t peak; /* number of the last peak; 0: none yet */
    bool frozen;   /* that instant has passed: `held` stays */
};

static int ends_first(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static int find_ends(struct heap_stats *stats)
{
    uint32_t count = trace_process_count(stats->trace);
    int error = 0;
    stats->processes = calloc((size_t)count + 1, sizeof(*stats->processes));
    if (!stats->processes)
        return -ENOMEM;
    for (uint32_t i = 0; i < count && !error; i++) {
        int64_t end_ns = trace_process_get(stats->trace, i)->end_ns;
        stats->processes[i].first = NO_ROW;
        if (end_ns > 0)
            error = vec_push(&stats->ends, ((struct ending){end_ns, i}));
    }
    if (stats->ends.count > 0)
        qsort(stats->ends.items, stats->ends.count, sizeof(struct ending), ends_first);
    return error;
}

struct heap_stats *heap_stats_create(const struct trace *trace)
{
    struct heap_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    stats->trace = trace;
    stats->at_ns = trace_heap_window(trace)->at_ns;
    stats->totals.exact = stats->totals.counted = true;
    if (find_ends(stats) == 0)
        return stats;
    heap_stats_destroy(stats);
    return NULL;
}

void heap_stats_destroy(struct heap_stats *stats)
{
    if (!stats)
        return;
    wide_map_free(&stats->index);
    vec_free(&stats->rows);
    vec_free(&stats->places);
    vec_free(&stats->sums);
    vec_free(&stats->lives);
    vec_free(&stats->changes);
    vec_free(&stats->ends);
    free(stats->processes);
    free(stats->owners);
    free(stats);
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

struct origin {
    uint32_t label;
    int32_t line;
};

/* The innermost own function; without one the innermost Python function, or native one. */
static struct origin origin_of(struct heap_stats *stats, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(stats->trace);
    const struct frame *python = NULL, *leaf = NULL;
    bool by_annot = false;
    while (stack) {
        const struct stack *node = stacks_get_stack(stacks, stack);
        const struct frame *frame = stacks_get_frame(stacks, node->frame);
        enum code_owner owner = owner_of(stats, frame->label);
        if (owner == CODE_OWN)
            return (struct origin){frame->label, frame->line};
        if (!python && frame->kind == FRAME_PYTHON) {
            python = frame;
            by_annot = owner == CODE_ANNOT;
        }
        if (!leaf && owner != CODE_ANNOT)
            leaf = frame;
        stack = node->parent;
    }
    if (by_annot)
        return (struct origin){0, HEAP_LINE_ANNOT};
    const struct frame *found = python ? python : leaf;
    return found ? (struct origin){found->label, found->line} : (struct origin){0};
}

static int add_row(struct heap_stats *stats, const struct heap_row *row)
{
    struct process_rows *process = &stats->processes[row->process];
    const struct live live = {.next = process->first};
    int error = vec_push(&stats->rows, *row);
    if (!error)
        error = vec_push(&stats->lives, live);
    if (!error)
        process->first = (uint32_t)stats->rows.count - 1;
    return error;
}

static int64_t row_of(struct heap_stats *stats, const struct sample *sample)
{
    uint32_t process = trace_thread_get(stats->trace, sample->thread)->process;
    const struct origin origin = origin_of(stats, sample->stack);
    const struct heap_row row = {.process = process, .label = origin.label, .line = origin.line};
    const struct wide_key *key = WIDE_KEY(process, row.label, (uint32_t)row.line);
    const uint64_t *found = wide_map_find(&stats->index, key);
    if (found)
        return (int64_t)*found;
    int error = wide_map_put(&stats->index, key, stats->rows.count);
    if (!error)
        error = add_row(stats, &row);
    return error ? error : (int64_t)stats->rows.count - 1;
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

/* A row's bytes at a peak are copied at its first change after it. */
static void copy_peak(struct heap_stats *stats, uint32_t row)
{
    struct live *live = &stats->lives.items[row];
    if (live->copied == stats->peak)
        return;
    live->copied = stats->peak;
    stats->rows.items[row].peak = live->bytes;
    stats->rows.items[row].peak_variance = live->variance;
}

static void keep_held(struct heap_stats *stats, uint32_t row)
{
    stats->rows.items[row].held = stats->lives.items[row].bytes;
    stats->rows.items[row].held_variance = stats->lives.items[row].variance;
}

/* A late change of a process that has ended counts in what it held. */
static void apply(struct heap_stats *stats, const struct change *change)
{
    struct heap_row *row = &stats->rows.items[change->row];
    struct live *live = &stats->lives.items[change->row];
    struct process_rows *process = &stats->processes[row->process];
    if (process->ended) {
        row->held += stats->at_ns ? 0 : change->bytes;
        row->held_variance += stats->at_ns ? 0 : change->variance;
        return;
    }
    copy_peak(stats, change->row);
    live->bytes += change->bytes;
    live->variance += change->variance;
    process->live += change->bytes;
    if (process->live > process->peak) {
        process->peak = process->live;
        process->peak_ns = change->time_ns;
    }
    stats->live += change->bytes;
    if (stats->live <= stats->totals.sums.peak)
        return;
    stats->totals.sums.peak = stats->live;
    stats->totals.peak_ns = change->time_ns;
    stats->totals.peak_path = change->path;
    stats->peak++;
}

static void end_process(struct heap_stats *stats, uint32_t process)
{
    struct process_rows *rows = &stats->processes[process];
    for (uint32_t row = rows->first; row != NO_ROW; row = stats->lives.items[row].next) {
        copy_peak(stats, row);
        if (!stats->at_ns)
            keep_held(stats, row);
        stats->live -= stats->lives.items[row].bytes;
        stats->lives.items[row].bytes = 0;
        stats->lives.items[row].variance = 0;
    }
    rows->ended = true;
}

/* At the instant of the window. */
static void freeze(struct heap_stats *stats)
{
    for (uint32_t i = 0; i < stats->rows.count; i++)
        keep_held(stats, i);
    stats->frozen = true;
}

/* Before the changes of a later time: ends of processes, and the instant of the window. */
static void advance(struct heap_stats *stats, int64_t time_ns)
{
    int64_t at_ns = stats->at_ns;
    while (stats->next_end < stats->ends.count) {
        const struct ending *end = &stats->ends.items[stats->next_end];
        if (end->time_ns >= time_ns)
            break;
        if (at_ns && !stats->frozen && end->time_ns > at_ns)
            freeze(stats);
        end_process(stats, end->process);
        stats->next_end++;
    }
    if (at_ns && !stats->frozen && time_ns > at_ns)
        freeze(stats);
}

static void replay(struct heap_stats *stats, size_t count)
{
    qsort(stats->changes.items, stats->changes.count, sizeof(struct change), earlier_first);
    for (size_t i = 0; i < count; i++) {
        advance(stats, stats->changes.items[i].time_ns);
        apply(stats, &stats->changes.items[i]);
    }
    stats->changes.count -= count;
    memmove(stats->changes.items, stats->changes.items + count,
            stats->changes.count * sizeof(struct change));
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Of blocks like this one, each is a sample with the probability size / weight, and the sum of
 * their weights has this variance. Blocks that are always sampled have none. */
static double variance_of(const struct sample_set *set, int64_t bytes, int64_t objects)
{
    bool exact = set->flags & SAMPLE_SET_EXACT || objects < 1;
    return exact ? 0 : (double)bytes * (double)bytes * (1 - 1 / (double)objects);
}

static void add_sums(struct heap_row *row, int64_t allocated, int64_t objects, int64_t temporary,
                     double variance)
{
    row->allocated += (uint64_t)allocated;
    row->objects += (uint64_t)objects;
    row->temporary += (uint64_t)temporary;
    row->allocated_variance += allocated ? variance : 0;
}

static int take(void *context, const struct item *item)
{
    struct heap_stats *stats = context;
    const struct sample *sample = item->sample;
    const struct sample_sets *sets = trace_sets_get(stats->trace);
    const struct sample_set *set = sample_set_get(sets, sample->set);
    int64_t born_ns = sample_order_ns(sample) - sample_value(sets, sample, VALUE_TYPE_LIFETIME);
    if (item->kind != ITEM_SAMPLE || !(set->flags & SAMPLE_SET_HEAP) ||
        born_ns < trace_heap_window(stats->trace)->from_ns)
        return 0;
    int64_t allocated = sample_value(sets, sample, VALUE_TYPE_ALLOC_BYTES);
    int64_t freed = sample_value(sets, sample, VALUE_TYPE_FREE_BYTES);
    int64_t objects = sample_value(sets, sample, VALUE_TYPE_ALLOC_OBJECTS);
    const struct sample_weight soon = {.heap = HEAP_TEMPORARY, .trace = stats->trace};
    int64_t temporary = sample_heap_weight(soon, sample);
    double variance = variance_of(set, allocated + freed,
                                  objects + sample_value(sets, sample, VALUE_TYPE_FREE_OBJECTS));
    int64_t index = row_of(stats, sample);
    if (index < 0)
        return (int)index;
    add_sums(&stats->rows.items[index], allocated, objects, temporary, variance);
    add_sums(&stats->totals.sums, allocated, objects, temporary, variance);
    stats->totals.samples += allocated > 0;
    stats->totals.exact &= (set->flags & SAMPLE_SET_EXACT) != 0;
    stats->totals.counted &= set->flags & SAMPLE_SET_EXACT && set->flags & SAMPLE_SET_INTERVAL;
    stats->totals.has_lifetimes |= sample_set_index(set, VALUE_TYPE_LIFETIME) >= 0;
    const struct change change = {sample_order_ns(sample), allocated - freed,
                                  allocated ? variance : -variance, (uint32_t)index, sample->path};
    int error = vec_push(&stats->changes, change);
    if (!error && stats->changes.count == CHANGES_MAX)
        replay(stats, CHANGES_MAX / 2);
    return error;
}

struct sink heap_stats_sink(struct heap_stats *stats)
{
    return (struct sink){take, stats, WANT_SAMPLES | WANT_PATHS};
}

/* ---- The end --------------------------------------------------------------------------------- */

static int most_first(const void *left, const void *right)
{
    const struct heap_row *a = left, *b = right;
    if (a->peak != b->peak)
        return a->peak < b->peak ? 1 : -1;
    if (a->held != b->held)
        return a->held < b->held ? 1 : -1;
    if (a->allocated != b->allocated)
        return a->allocated < b->allocated ? 1 : -1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Frees before their allocations, of a damaged recording, and rounding leave less than nothing. */
static void add_to_totals(struct heap_totals *totals, struct heap_row *row)
{
    row->peak = row->peak > 0 ? row->peak : 0;
    row->held = row->held > 0 ? row->held : 0;
    row->peak_variance = row->peak_variance > 0 ? row->peak_variance : 0;
    row->held_variance = row->held_variance > 0 ? row->held_variance : 0;
    totals->sums.held += row->held;
    totals->sums.peak_variance += row->peak_variance;
    totals->sums.held_variance += row->held_variance;
}

static void add_row_to(struct heap_row *sum, const struct heap_row *row)
{
    sum->allocated += row->allocated;
    sum->objects += row->objects;
    sum->temporary += row->temporary;
    sum->peak += row->peak;
    sum->held += row->held;
    sum->peak_variance += row->peak_variance;
    sum->held_variance += row->held_variance;
    sum->allocated_variance += row->allocated_variance;
}

static int by_place(const void *left, const void *right)
{
    const struct heap_row *a = left, *b = right;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Makes the rows of all processes together. */
static int add_places(struct heap_stats *stats)
{
    size_t kept = 0;
    int error = 0;
    for (size_t i = 0; i < stats->rows.count && !error; i++)
        error = vec_push(&stats->places, stats->rows.items[i]);
    if (error || stats->places.count == 0)
        return error;
    struct heap_row *places = stats->places.items;
    qsort(places, stats->places.count, sizeof(*places), by_place);
    for (size_t i = 1; i < stats->places.count; i++)
        if (by_place(&places[kept], &places[i]) == 0)
            add_row_to(&places[kept], &places[i]);
        else
            places[++kept] = places[i];
    stats->places.count = kept + 1;
    qsort(places, stats->places.count, sizeof(*places), most_first);
    return 0;
}

static int largest_first(const void *left, const void *right)
{
    const struct heap_process *a = left, *b = right;
    if (a->peak != b->peak)
        return a->peak < b->peak ? 1 : -1;
    return (a->sums.process > b->sums.process) - (a->sums.process < b->sums.process);
}

/* Call before the rows are sorted. */
static int add_processes(struct heap_stats *stats)
{
    int error = 0;
    for (uint32_t i = 0; i < trace_process_count(stats->trace) && !error; i++) {
        const struct process_rows *from = &stats->processes[i];
        struct heap_process process = {
            .sums.process = i, .peak = from->peak, .peak_ns = from->peak_ns};
        for (uint32_t row = from->first; row != NO_ROW; row = stats->lives.items[row].next)
            add_row_to(&process.sums, &stats->rows.items[row]);
        if (from->first != NO_ROW)
            error = vec_push(&stats->sums, process);
    }
    if (stats->sums.count > 0)
        qsort(stats->sums.items, stats->sums.count, sizeof(struct heap_process), largest_first);
    return error;
}

int heap_stats_finish(struct heap_stats *stats)
{
    if (stats->changes.count > 0)
        replay(stats, stats->changes.count);
    advance(stats, INT64_MAX);
    for (uint32_t i = 0; i < stats->rows.count; i++) {
        copy_peak(stats, i);
        if (!stats->at_ns && !stats->processes[stats->rows.items[i].process].ended)
            keep_held(stats, i);
        add_to_totals(&stats->totals, &stats->rows.items[i]);
    }
    int error = add_processes(stats);
    if (!error)
        error = add_places(stats);
    if (stats->rows.count > 0)
        qsort(stats->rows.items, stats->rows.count, sizeof(struct heap_row), most_first);
    return error;
}

uint32_t heap_stats_rows(const struct heap_stats *stats, const struct heap_row **ret_rows)
{
    *ret_rows = stats->rows.items;
    return (uint32_t)stats->rows.count;
}

uint32_t heap_stats_places(const struct heap_stats *stats, const struct heap_row **ret_rows)
{
    *ret_rows = stats->places.items;
    return (uint32_t)stats->places.count;
}

uint32_t heap_stats_processes(const struct heap_stats *stats,
                              const struct heap_process **ret_processes)
{
    *ret_processes = stats->sums.items;
    return (uint32_t)stats->sums.count;
}

const struct heap_totals *heap_stats_totals(const struct heap_stats *stats)
{
    return &stats->totals;
}

int heap_stats_find_peak(const struct pass_source *source, const struct pass_selection *selection)
{
    struct trace_heap_window window = *trace_heap_window(source->trace);
    struct heap_stats *stats = heap_stats_create(source->trace);
    if (!stats)
        return -ENOMEM;
    const struct sink sink = {take, stats, WANT_SAMPLES};
    int error = pass_read(source, selection, &sink, 1);
    if (!error)
        error = heap_stats_finish(stats);
    window.peak_ns = stats->totals.peak_ns;
    trace_heap_window_set(source->trace, &window);
    heap_stats_destroy(stats);
    return error;
}

int heap_stats_choose_peak(struct store_reader *reader, const struct pass_selection *selection)
{
    const struct pass_source source = recording_pass_source(reader);
    int error = heap_stats_find_peak(&source, selection);
    return error ? error : store_reader_rewind(reader);
}
