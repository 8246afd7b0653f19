/* SPDX-License-Identifier: MIT */
/* Where GPU work was launched from, by name: the range, and the own function in the stacks of
 * sampled launches. See gpu_stats.h. */
#include "gpu_sources.h"

#include "gpu_stats_parts.h"
#include "range_paths.h"

#include <errno.h>
#include <stdlib.h>

void gpu_sources_fini(struct gpu_sources *sources)
{
    vec_free(&sources->items);
    map64_free(&sources->index);
}

/* Drops sources beyond the limit. */
int gpu_sources_add(struct gpu_sources *sources, uint32_t row, uint32_t what, uint64_t time_ns)
{
    uint32_t mixed = row * 0x9e3779b1u ^ what * 0x85ebca6bu;
    uint32_t *recent = &sources->recent[mixed >> (32 - GPU_RECENT_BITS)];
    struct gpu_source *source = *recent ? &sources->items.items[*recent - 1] : NULL;
    if (!source || source->row != row || source->what != what) {
        uint64_t key = ((uint64_t)row << 32 | what) + 1;
        const uint64_t *found = map64_find(&sources->index, key);
        if (!found && sources->items.count >= GPU_SOURCES_MAX)
            return 0;
        if (!found && (vec_push(&sources->items, ((struct gpu_source){row, what, 0, 0})) != 0 ||
                       map64_put(&sources->index, key, sources->items.count) != 0))
            return -ENOMEM;
        *recent = found ? (uint32_t)*found : (uint32_t)sources->items.count;
        source = &sources->items.items[*recent - 1];
    }
    source->time_ns += time_ns;
    source->count++;
    return 0;
}

/* More time; among zero times the first one counts. */
static bool is_more(const struct gpu_source *source, const struct gpu_from *from)
{
    return from->count == 0 || source->time_ns > from->time_ns;
}

/* True for calls of CUDA: every launch is in one, and they are not ranges of the program. */
static bool is_call(const struct gpu_stats *work, uint32_t row)
{
    return range_stats_scope(work->stats, row)->observer == OBSERVER_CUPTI;
}

static int find_ranges(struct gpu_stats *work)
{
    uint32_t rows[RANGE_PATH_MAX];
    for (size_t i = 0; i < work->from_paths.items.count; i++) {
        const struct gpu_source *source = &work->from_paths.items.items[i];
        struct gpu_from *from = &work->rows.items[source->row].range;
        if (!is_more(source, from))
            continue;
        *from = (struct gpu_from){RANGE_NO_ROW, source->time_ns, source->count};
        if (source->what == 0)
            continue;
        const struct gpu_launched *launched = &work->places.paths.items[source->what - 1];
        uint32_t depth = range_stats_path_rows(work->stats, launched->owner, launched->path, rows);
        if (depth == UINT32_MAX)
            return -ENOMEM;
        while (depth > 0 && is_call(work, rows[depth - 1]))
            depth--;
        from->what = depth > 0 ? rows[depth - 1] : RANGE_NO_ROW;
    }
    return 0;
}

int gpu_sources_find(struct gpu_stats *work, const struct own_time *own)
{
    struct gpu_sources *functions = &work->from_functions;
    int error = find_ranges(work);
    for (size_t i = 0; i < work->from_stacks.items.count && !error; i++) {
        const struct gpu_source *source = &work->from_stacks.items.items[i];
        work->rows.items[source->row].stacks_ns += source->time_ns;
        uint32_t label = own ? own_time_function(own, source->what) : 0;
        if (label)
            error = gpu_sources_add(functions, source->row, label, source->time_ns);
    }
    for (size_t i = 0; i < functions->items.count && !error; i++) {
        const struct gpu_source *source = &functions->items.items[i];
        struct gpu_from *from = &work->rows.items[source->row].function;
        if (is_more(source, from))
            *from = (struct gpu_from){source->what, source->time_ns, source->count};
    }
    return error;
}

static int most_first(const void *left, const void *right)
{
    const struct gpu_from *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return (a->what > b->what) - (a->what < b->what);
}

int gpu_captures_finish(struct gpu_stats *work)
{
    const struct gpu_sources *sources = &work->from_captures;
    if (vec_reserve(&work->captures, sources->items.count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < sources->items.count; i++) {
        const struct gpu_source *source = &sources->items.items[i];
        work->captures.items[work->captures.count++] =
            (struct gpu_from){source->what, source->time_ns, source->count};
    }
    if (work->captures.count > 1)
        qsort(work->captures.items, work->captures.count, sizeof(*work->captures.items),
              most_first);
    return 0;
}
