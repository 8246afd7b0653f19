/* SPDX-License-Identifier: MIT */
/* Sums of samples by slot, thread, stack, range and cause. */
#include "page_samples.h"

#include "page_data.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sums ------------------------------------------------------------------------------------ */

void page_sums_fini(struct page_sums *sums)
{
    vec_free(&sums->items);
    wide_map_free(&sums->index);
    free(sums->into);
    *sums = (struct page_sums){0};
}

static struct wide_key key_of(const struct page_sum *sum)
{
    return (struct wide_key){.words = {(uint64_t)sum->slot << 32 | sum->thread,
                                       (uint64_t)sum->node << 32 | sum->path,
                                       (uint64_t)sum->line << 32 | (uint64_t)sum->cause << 16 |
                                           (uint64_t)sum->reason << 8 | sum->idle}};
}

static int put(struct page_sums *sums, const struct page_sum *sum)
{
    const struct wide_key key = key_of(sum);
    const uint64_t *found = wide_map_find(&sums->index, &key);
    if (!found) {
        if (wide_map_put(&sums->index, &key, sums->items.count) != 0)
            return -ENOMEM;
        return vec_push(&sums->items, *sum);
    }
    struct page_sum *into = &sums->items.items[*found];
    into->count += sum->count;
    into->time_ns += sum->time_ns;
    into->max_ns = sum->max_ns > into->max_ns ? sum->max_ns : into->max_ns;
    return 0;
}

/* The sum's key at the current resolution. */
static struct page_sum coarse(const struct page_sums *sums, struct page_sum sum)
{
    sum.slot = sum.slot >> sums->slot_shift << sums->slot_shift;
    sum.node = sums->into ? sums->into[sum.node] : sum.node;
    sum.path = sums->no_paths ? 0 : sum.path;
    sum.line = sums->no_lines ? 0 : sum.line;
    sum.thread = sums->no_threads ? PAGE_NONE : sum.thread;
    return sum;
}

static int rebuild(struct page_sums *sums)
{
    size_t count = sums->items.count;
    wide_map_free(&sums->index);
    sums->index = (struct wide_map){0};
    sums->items.count = 0;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        const struct page_sum sum = coarse(sums, sums->items.items[i]);
        error = put(sums, &sum);
    }
    return error;
}

/* ---- Nodes that count for their parents ------------------------------------------------------ */

static int largest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* The time of each node including its descendants. NULL if out of memory. */
static uint64_t *node_totals(const struct page_sums *sums)
{
    uint64_t *totals = calloc((size_t)sums->node_count + 1, sizeof(*totals));
    for (size_t i = 0; totals && i < sums->items.count; i++)
        totals[sums->items.items[i].node] += sums->items.items[i].time_ns + 1;
    for (uint32_t i = sums->node_count; totals && i-- > 1;)
        totals[sums->parents[i]] += totals[i];
    return totals;
}

/* A parent has at least the time of its child, so kept nodes keep their parents. Sorts `totals`. */
static uint64_t threshold_of(uint64_t *totals, uint32_t count, uint32_t keep)
{
    qsort(totals, count, sizeof(*totals), largest_first);
    return keep < count ? totals[keep] : 0;
}

static int begin_into(struct page_sums *sums)
{
    if (sums->into)
        return 0;
    sums->into = calloc((size_t)sums->node_count + 1, sizeof(*sums->into));
    for (uint32_t i = 0; i < sums->node_count && sums->into; i++)
        sums->into[i] = i;
    return sums->into ? 0 : -ENOMEM;
}

/* Joins nodes that differ only by lines. Keeps all functions. */
static int join_lines(struct page_sums *sums)
{
    int error = begin_into(sums);
    for (uint32_t i = 1; i < sums->node_count && !error; i++)
        sums->into[i] = sums->node_of_path[sums->path_of_node[i]];
    sums->path_of_node = NULL;
    sums->no_lines = true;
    return error ? error : rebuild(sums);
}

static int fold_nodes(struct page_sums *sums, uint32_t keep)
{
    uint64_t *totals = node_totals(sums), *sorted = calloc((size_t)sums->node_count + 1, 8);
    int error = totals && sorted ? begin_into(sums) : -ENOMEM;
    if (!error) {
        memcpy(sorted, totals, sums->node_count * sizeof(*sorted));
        uint64_t threshold = threshold_of(sorted, sums->node_count, keep);
        for (uint32_t i = 1; i < sums->node_count; i++)
            if (totals[i] <= threshold)
                sums->into[i] = sums->into[sums->parents[i]];
        sums->node_steps++;
        error = rebuild(sums);
    }
    free(totals);
    free(sorted);
    return error;
}

static uint32_t used_nodes(const struct page_sums *sums, uint64_t *totals)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sums->node_count; i++)
        count += totals[i] > 0;
    return count;
}

int page_sums_limit_nodes(struct page_sums *sums, uint32_t limit)
{
    uint64_t *totals = node_totals(sums);
    int error = totals ? 0 : -ENOMEM;
    if (!error && used_nodes(sums, totals) > limit)
        error = fold_nodes(sums, limit);
    free(totals);
    return error;
}

static int halve_nodes(struct page_sums *sums)
{
    uint64_t *totals = node_totals(sums);
    uint32_t used = totals ? used_nodes(sums, totals) : 0;
    free(totals);
    return totals ? fold_nodes(sums, used / 2) : -ENOMEM;
}

/* ---- Making room ----------------------------------------------------------------------------- */

/* Takes the next step: s joins slots, n halves the nodes, l drops lines, p paths, t threads. The
 * last step repeats. */
static int make_room(struct page_sums *sums)
{
    static const char steps[] = "ssnnlspnnnsnnssstn";
    char step = steps[sums->step < sizeof(steps) - 2 ? sums->step : sizeof(steps) - 2];
    if (step == 'n' && sums->path_of_node)
        return join_lines(sums);
    sums->step++;
    if (step == 'n')
        return halve_nodes(sums);
    sums->slot_shift += step == 's';
    sums->no_lines |= step == 'l';
    sums->no_paths |= step == 'p';
    sums->no_threads |= step == 't';
    return rebuild(sums);
}

int page_sums_limit(struct page_sums *sums, size_t limit)
{
    int error = 0;
    for (unsigned i = 0; i < 64 && sums->items.count > limit && !error; i++)
        error = make_room(sums);
    return error;
}

int page_sums_add(struct page_sums *sums, const struct page_sum *sum)
{
    const struct page_sum key = coarse(sums, *sum);
    int error = put(sums, &key);
    if (!error && sums->items.count > sums->limit)
        error = page_sums_limit(sums, sums->limit / 2);
    return error;
}

/* ---- Order ----------------------------------------------------------------------------------- */

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
        return (a) < (b) ? -1 : 1;

static int in_order(const void *left, const void *right)
{
    const struct page_sum *a = left, *b = right;
    COMPARE(a->slot, b->slot)
    COMPARE(a->thread, b->thread)
    COMPARE(a->node, b->node)
    COMPARE(a->path, b->path)
    COMPARE(a->line, b->line)
    COMPARE(a->cause, b->cause)
    COMPARE(a->reason, b->reason)
    return (int)a->idle - (int)b->idle;
}

/* Frees the index, which refers to the old order. */
void page_sums_sort(struct page_sums *sums)
{
    if (sums->items.count > 0)
        qsort(sums->items.items, sums->items.count, sizeof(*sums->items.items), in_order);
    wide_map_free(&sums->index);
    sums->index = (struct wide_map){0};
}

/* ---- Call paths ------------------------------------------------------------------------------ */

static void free_paths(struct page_paths *paths)
{
    free(paths->of_stack);
    free(paths->stack_parents);
    vec_free(&paths->parents);
    vec_free(&paths->labels);
    vec_free(&paths->stacks);
}

static int push_path(struct page_paths *paths, uint32_t parent, uint32_t label, uint32_t stack)
{
    int error = vec_push(&paths->parents, parent);
    if (!error)
        error = vec_push(&paths->labels, label);
    return error ? error : vec_push(&paths->stacks, stack);
}

/* Stacks that differ only by lines share a path. A caller's stack has a smaller number. */
static int find_paths(struct page_paths *paths, const struct stacks *stacks)
{
    struct map64 path_by_key = {0};
    paths->stack_count = stacks_stack_count(stacks);
    paths->of_stack = calloc((size_t)paths->stack_count + 1, sizeof(*paths->of_stack));
    paths->stack_parents = calloc((size_t)paths->stack_count + 1, sizeof(*paths->stack_parents));
    int error = paths->of_stack && paths->stack_parents ? push_path(paths, 0, 0, 0) : -ENOMEM;
    for (uint32_t i = 1; i < paths->stack_count && !error; i++) {
        const struct stack *stack = stacks_get_stack(stacks, i);
        paths->stack_parents[i] = stack->parent;
        uint32_t parent = paths->of_stack[stack->parent];
        uint32_t label = stacks_get_frame(stacks, stack->frame)->label;
        uint64_t key = ((uint64_t)parent << 32 | label) + 1;
        const uint64_t *found = map64_find(&path_by_key, key);
        paths->of_stack[i] = found ? (uint32_t)*found : (uint32_t)paths->parents.count;
        if (!found)
            error = push_path(paths, parent, label, i);
        if (!found && !error)
            error = map64_put(&path_by_key, key, paths->of_stack[i]);
    }
    map64_free(&path_by_key);
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

int page_samples_init(struct page_samples *samples, const struct trace *trace, const char *range,
                      const struct page_span *span)
{
    *samples = (struct page_samples){.trace = trace, .span = *span, .range = range};
    int error = find_paths(&samples->paths, trace_stacks_get(trace));
    samples->sums.parents = samples->paths.stack_parents;
    samples->sums.node_count = samples->paths.stack_count;
    samples->sums.path_of_node = samples->paths.of_stack;
    samples->sums.node_of_path = samples->paths.stacks.items;
    samples->sums.limit = PAGE_SUMS_READ;
    return error;
}

void page_samples_fini(struct page_samples *samples)
{
    free_paths(&samples->paths);
    path_matches_fini(&samples->matches);
    page_sums_fini(&samples->sums);
    *samples = (struct page_samples){0};
}

/* Adds a part of a stretch, split at slot boundaries. It counts once, in its first slot. */
static int add_part(struct page_samples *samples, struct page_sum sum, int64_t from_ns)
{
    const struct page_span *span = &samples->span;
    uint64_t left_ns = sum.time_ns;
    sum.max_ns = sum.time_ns;
    int error = 0;
    for (bool first = true; (left_ns > 0 || first) && !error; first = false) {
        sum.slot = page_slot(span, PAGE_SLOTS, from_ns);
        int64_t next_ns = page_slot_begin(span, PAGE_SLOTS, sum.slot + 1);
        bool last = sum.slot + 1 == PAGE_SLOTS || next_ns <= from_ns;
        uint64_t room_ns = (uint64_t)next_ns - (uint64_t)from_ns;
        sum.time_ns = last || left_ns < room_ns ? left_ns : room_ns;
        error = page_sums_add(&samples->sums, &sum);
        left_ns -= sum.time_ns;
        from_ns = next_ns;
        sum.count = sum.max_ns = 0;
    }
    return error;
}

static int add_stretch(struct page_samples *samples, const struct sample *sample,
                       struct page_sum sum)
{
    struct off_share off = sample_off_share(trace_sets_get(samples->trace), sample);
    int64_t wake_ns;
    int error = 0;
    if (__builtin_add_overflow(sample->time_ns, (int64_t)off.blocked_ns, &wake_ns))
        wake_ns = sample->time_ns;
    sum.reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN;
    sum.cause = sum.reason;
    sum.time_ns = off.blocked_ns;
    if (off.blocked_ns > 0)
        error = add_part(samples, sum, sample->time_ns);
    sum.cause = PAGE_RUNNABLE;
    sum.time_ns = off.runnable_ns;
    return error || off.runnable_ns == 0 ? error : add_part(samples, sum, wake_ns);
}

static int take(void *context, const struct item *item)
{
    struct page_samples *samples = context;
    const struct sample *sample = item->sample;
    const struct sample_sets *sets = trace_sets_get(samples->trace);
    enum sample_role role = sample_role(sets, sample);
    if (role != SAMPLE_ROLE_CPU && role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    if (samples->range) {
        int inside = path_matches(&samples->matches, samples->trace, samples->range, sample->path);
        if (inside != 1)
            return inside;
    }
    uint32_t stack = sample->stack < samples->paths.stack_count ? sample->stack : 0;
    struct page_sum sum = {.thread = sample->thread,
                           .node = stack,
                           .path = sample->path,
                           .cause = PAGE_CPU,
                           .count = 1};
    samples->paths.stacks.items[samples->paths.of_stack[stack]] = stack;
    if (role == SAMPLE_ROLE_OFF_CPU)
        return add_stretch(samples, sample, sum);
    sum.slot = page_slot(&samples->span, PAGE_SLOTS, sample->time_ns);
    sum.time_ns = sample_cpu_ns(sets, sample);
    return page_sums_add(&samples->sums, &sum);
}

struct sink page_samples_sink(struct page_samples *samples)
{
    return (struct sink){take, samples, WANT_SAMPLES | WANT_PATHS};
}
