/* SPDX-License-Identifier: MIT */
/* Rows of range_stats.h, found by node.
 *
 * Row i belongs to node i - RANGE_KIND_COUNT + 1 of the path tree; the first rows are "(other)",
 * one per kind. */
#include "range_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Durations one by one, for comparisons of recordings. */

/* Over all rows. */
enum { KEPT_MAX = 1 << 22 };

/* Drops every second duration, of the kept and of future ones. */
static void thin_out(struct range_kept *kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < kept->count; i += 2)
        kept->items[left++] = kept->items[i];
    kept->count = left;
    kept->stride *= 2;
}

/* Doubles the capacity of a row, unless it or all rows together are at the limit. */
static void make_room(struct range_keeper *keeper, struct range_kept *kept)
{
    uint32_t wanted = kept->capacity ? 2 * kept->capacity : 16;
    if (wanted > keeper->limit)
        wanted = keeper->limit;
    if (wanted == kept->capacity || keeper->total + wanted > KEPT_MAX)
        return;
    struct range_duration *items = realloc(kept->items, wanted * sizeof(*items));
    keeper->failed = keeper->failed || !items;
    if (!items)
        return;
    keeper->total += wanted - kept->capacity;
    kept->items = items;
    kept->capacity = wanted;
}

void range_keep(struct range_keeper *keeper, size_t row, struct range_duration duration)
{
    if (keeper->limit == 0)
        return;
    while (keeper->rows.count <= row && !keeper->failed)
        keeper->failed = vec_push(&keeper->rows, (struct range_kept){.stride = 1}) != 0;
    if (keeper->failed)
        return;
    struct range_kept *kept = &keeper->rows.items[row];
    if (kept->seen++ % kept->stride != 0)
        return;
    if (kept->count == kept->capacity)
        make_room(keeper, kept);
    if (kept->count == kept->capacity && kept->count > 1)
        thin_out(kept);
    if ((kept->seen - 1) % kept->stride == 0 && kept->count < kept->capacity)
        kept->items[kept->count++] = duration;
}

void range_keeper_free(struct range_keeper *keeper)
{
    for (size_t i = 0; i < keeper->rows.count; i++)
        free(keeper->rows.items[i].items);
    vec_free(&keeper->rows);
}

const struct range_duration *range_keeper_get(const struct range_keeper *keeper, size_t row,
                                              uint32_t *ret_count)
{
    *ret_count = row < keeper->rows.count ? keeper->rows.items[row].count : 0;
    return *ret_count > 0 ? keeper->rows.items[row].items : NULL;
}

enum { PAIR_LIMIT = 1u << 20 };

struct range_row *range_row_at(struct range_stats *stats, enum range_kind kind, uint32_t node)
{
    return &stats->rows.items[node == PATH_OTHER ? (uint32_t)kind : node + RANGE_KIND_COUNT - 1];
}

bool range_rows_follow(struct range_stats *stats, enum range_kind kind, uint32_t owner)
{
    size_t wanted = stats->tree.count + RANGE_KIND_COUNT - 1;
    if (stats->tree.error || vec_reserve(&stats->rows, wanted - stats->rows.count) != 0)
        return false;
    while (stats->rows.count < wanted)
        stats->rows.items[stats->rows.count++] = (struct range_row){.kind = kind, .owner = owner};
    return true;
}

struct thread_path *range_path_of(struct range_stats *stats, uint32_t thread)
{
    size_t wanted = (size_t)thread + 1;
    if (wanted > stats->paths.count) {
        if (vec_reserve(&stats->paths, wanted - stats->paths.count) != 0)
            return NULL;
        size_t added = wanted - stats->paths.count;
        memset(stats->paths.items + stats->paths.count, 0, added * sizeof(struct thread_path));
        stats->paths.count = wanted;
    }
    struct thread_path *path = &stats->paths.items[thread];
    if (!path->known) {
        const struct trace_thread *entry = trace_thread_get(stats->trace, thread);
        path->process = entry ? entry->process : RANGE_NO_OWNER;
        path->last_ns = INT64_MIN;
        path->known = true;
    }
    return path;
}

static uint32_t owner_of(const struct range_stats *stats, enum range_kind kind, uint32_t thread)
{
    if (stats->grouping == RANGE_BY_PROCESS || kind == RANGE_COUNTER)
        return stats->paths.items[thread].process;
    return stats->grouping == RANGE_BY_THREAD ? thread : RANGE_NO_OWNER;
}

/* Returns the root of an owner's paths; mostly the owner is the same as last time. */
static int64_t root_of(struct range_stats *stats, enum range_kind kind, uint32_t owner)
{
    struct path_root *last = &stats->roots[kind];
    if (last->node != PATH_OTHER && last->owner == owner)
        return last->node;
    uint32_t node = path_tree_child(&stats->tree, PATH_NONE, owner, kind);
    *last = (struct path_root){owner, node};
    return range_rows_follow(stats, kind, owner) ? (int64_t)node : -ENOMEM;
}

/* Returns the node for an event below `parent` (PATH_NONE: at the top), or -ENOMEM. */
static int64_t node_of(struct range_stats *stats, enum range_kind kind, const struct event *event,
                       uint32_t parent)
{
    if (parent == PATH_NONE) {
        int64_t root = root_of(stats, kind, owner_of(stats, kind, event->thread));
        if (root < 0)
            return root;
        parent = (uint32_t)root;
    }
    uint32_t domain = trace_scope_domain(stats->trace, event->scope);
    uint32_t node = path_tree_child(&stats->tree, parent, event->name, domain);
    uint32_t owner = range_row_at(stats, kind, parent)->owner;
    if (!range_rows_follow(stats, kind, owner))
        return -ENOMEM;
    if (!range_is_inherited(stats, event->scope))
        range_row_at(stats, kind, node)->scope = event->scope;
    return node;
}

/* Returns true if the pair is new in the row. The first 64 ordinals have a bit, others an entry in
 * the set; false if the set is full. */
static bool is_new(struct range_stats *stats, struct map64 *set, uint64_t *bits, uint64_t pair)
{
    uint32_t ordinal = (uint32_t)pair;
    if (ordinal < 64) {
        bool fresh = (*bits >> ordinal & 1) == 0;
        *bits |= UINT64_C(1) << ordinal;
        return fresh;
    }
    if (map64_find(set, pair + 1))
        return false;
    if (set->count >= PAIR_LIMIT || map64_put(set, pair + 1, 1) != 0) {
        stats->totals.threads_cut = true;
        return false;
    }
    return true;
}

static void count_thread(struct range_stats *stats, struct range_row *row, uint32_t thread)
{
    if (row->recent_thread == thread + 1)
        return;
    row->recent_thread = thread + 1;
    uint64_t index = (uint64_t)(row - stats->rows.items) << 32;
    if (!is_new(stats, &stats->threads_of_rows, &row->threads, index | thread))
        return;
    row->thread_count++;
    uint32_t process = stats->paths.items[thread].process;
    row->process_count +=
        is_new(stats, &stats->processes_of_rows, &row->processes, index | process);
}

static void count_entry(struct range_stats *stats, struct range_row *row, uint32_t node,
                        const struct event *begin)
{
    bool begins = !(begin->flags & EVENT_CONTINUES && event_can_continue(begin->kind));
    row->count += begins;
    stats->totals.other_count += begins && node == PATH_OTHER;
    count_thread(stats, row, begin->thread);
}

void range_add_duration(struct range_stats *stats, struct range_row *row,
                        struct range_duration duration)
{
    uint64_t duration_ns = duration.duration_ns;
    if (!row->has_durations || duration_ns < row->min_ns)
        row->min_ns = duration_ns;
    row->has_durations = true;
    if (duration_ns > row->max_ns)
        row->max_ns = duration_ns;
    histogram_add(stats->histograms, &row->durations, duration_ns);
    range_keep(&stats->keeper, (size_t)(row - stats->rows.items), duration);
}

struct range_duration range_duration_of(const struct item *span)
{
    uint64_t duration = range_length_ns(span);
    uint64_t runnable_ns = span->off.runnable_ns > 0 ? (uint64_t)span->off.runnable_ns : 0;
    return (struct range_duration){duration, runnable_ns < duration ? runnable_ns : 0};
}

void range_add_part(struct range_row *row, const struct item *span)
{
    row->total_ns += range_length_ns(span);
    row->unfinished += (span->flags & ITEM_UNFINISHED) != 0;
    row->end_lost += (span->flags & ITEM_END_LOST) != 0;
}

int range_enter(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                const struct event *begin, uint32_t depth)
{
    if (vec_reserve(nodes, depth + 1) != 0)
        return -ENOMEM;
    while (nodes->count < depth)
        nodes->items[nodes->count++] = PATH_OTHER;
    bool top = depth == 0 || stats->grouping == RANGE_BY_NAME;
    uint32_t parent = top ? PATH_NONE : nodes->items[depth - 1];
    int64_t node = node_of(stats, kind, begin, parent);
    if (node < 0)
        return -ENOMEM;
    nodes->count = depth;
    return vec_push(nodes, (uint32_t)node);
}

/* By name, the total of the outer range already contains an inner one of the same name. */
static bool is_nested_in_itself(const struct range_stats *stats, const range_nodes *nodes,
                                uint32_t depth)
{
    if (stats->grouping != RANGE_BY_NAME)
        return false;
    for (uint32_t i = depth; i-- > 0;) {
        if (nodes->items[i] == nodes->items[depth])
            return true;
    }
    return false;
}

struct range_row *range_leave(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                              const struct item *span, bool *ret_nested)
{
    uint32_t depth = span->ranges;
    bool known = depth < nodes->count;
    uint32_t node = known ? nodes->items[depth] : PATH_OTHER;
    struct range_row *row = range_row_at(stats, kind, node);
    uint64_t duration = range_length_ns(span);
    uint64_t children = span->ranges_ns > 0 ? (uint64_t)span->ranges_ns : 0;
    count_entry(stats, row, node, span->event);
    range_add_part(row, span);
    row->self_ns += duration > children ? duration - children : 0;
    *ret_nested = known && is_nested_in_itself(stats, nodes, depth);
    row->nested_ns += *ret_nested ? duration : 0;
    if (known)
        nodes->count = depth;
    return row;
}

int range_flat_row(struct range_stats *stats, enum range_kind kind, const struct event *event,
                   struct range_row **ret_row)
{
    if (!range_path_of(stats, event->thread))
        return -ENOMEM;
    int64_t node = node_of(stats, kind, event, PATH_NONE);
    if (node < 0)
        return -ENOMEM;
    *ret_row = range_row_at(stats, kind, (uint32_t)node);
    count_entry(stats, *ret_row, (uint32_t)node, event);
    return 0;
}
