/* SPDX-License-Identifier: MIT */
/* What the page takes from samples: sums by slot, thread, stack, range and cause. */
#include "page_parts.h"

#include "sample.h"
#include "stacks.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

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

/* Stacks that differ by lines alone have one path. A caller's stack has a smaller number. */
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

/* A part of a stretch, cut at the ends of slots. It counts once, where it begins. */
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
    sum.cause = PAGE_READY;
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
