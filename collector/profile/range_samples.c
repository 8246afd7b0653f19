/* SPDX-License-Identifier: MIT */
/* What samples add to the rows of range_stats.h.
 *
 * CPU time is added up by path first, and goes to the rows once all is in. A path knows names only:
 * of ranges with that name and different domains, the one without a domain gets it, else the first.
 * A path without a row (its ranges' records were dropped, or a forked child inherited it) gets one,
 * whose count is 0. Thread-safety: none. */
#include "range_stats_parts.h"
#include "stacks.h"
#include "thread_times.h"

#include <errno.h>

enum { DEPTH_MAX = 256 };

void range_stats_add_off(struct range_stats *stats, struct range_row *row,
                         const struct slice *slice)
{
    struct off_share off = thread_times_between(stats->times, slice->begin->thread,
                                                slice->begin->time_ns, slice->end_ns);
    row->runnable_ns += off.runnable_ns;
    row->blocked_ns += off.blocked_ns;
}

void range_stats_free_samples(struct range_stats *stats)
{
    vec_free(&stats->weights);
    map64_free(&stats->weight_index);
    map64_free(&stats->nodes_by_name);
}

static uint32_t owner_of(const struct range_stats *stats, uint32_t thread)
{
    if (stats->grouping == RANGE_BY_THREAD)
        return thread;
    const struct trace_thread *entry = trace_thread_get(stats->trace, thread);
    return stats->grouping == RANGE_BY_PROCESS && entry ? entry->process : RANGE_NO_OWNER;
}

/* A thread without events is in the ranges of the one that forked its process. */
static bool has_no_ranges(const struct trace *trace, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    return entry && entry->event_count == 0;
}

int range_stats_add_sample(struct range_stats *stats, const struct sample *sample)
{
    int64_t last_ns = sample->kind == SAMPLE_OFF_CPU ? sample->end_ns : sample->time_ns;
    stats->last_ns = last_ns > stats->last_ns ? last_ns : stats->last_ns;
    if (sample->kind != SAMPLE_CPU)
        return 0;
    stats->totals.cpu_ns += sample->weight_ns;
    if (sample->path == 0) {
        stats->totals.cpu_outside_ns += sample->weight_ns;
        return 0;
    }
    if (has_no_ranges(stats->trace, sample->thread))
        stats->totals.cpu_inherited_ns += sample->weight_ns;
    uint32_t owner = owner_of(stats, sample->thread);
    uint64_t key = (uint64_t)owner << 32 | sample->path; /* not 0: the path is not */
    uint64_t *found = map64_find(&stats->weight_index, key);
    if (!found) {
        struct path_weight fresh = {.owner = owner, .path = sample->path};
        if (vec_push(&stats->weights, fresh) != 0 ||
            map64_put(&stats->weight_index, key, stats->weights.count) != 0)
            return -ENOMEM;
        found = map64_find(&stats->weight_index, key);
    }
    struct path_weight *weight = &stats->weights.items[*found - 1];
    weight->cpu_ns += sample->weight_ns;
    weight->count++;
    return 0;
}

static uint64_t name_key(uint32_t parent, uint32_t name)
{
    return ((uint64_t)parent + 1) << 32 | name;
}

static int index_names(struct range_stats *stats)
{
    for (uint32_t i = 1; i < stats->tree.count; i++) {
        const struct path_node *node = &stats->tree.nodes[i];
        uint64_t key = name_key(node->parent, node->name);
        if (node->parent == PATH_NONE ||
            (node->domain != 0 && map64_find(&stats->nodes_by_name, key)))
            continue;
        if (map64_put(&stats->nodes_by_name, key, i) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* PATH_OTHER if there is no room; -ENOMEM. */
static int64_t child_by_name(struct range_stats *stats, uint32_t parent, uint32_t name,
                             uint32_t owner)
{
    const uint64_t *found = map64_find(&stats->nodes_by_name, name_key(parent, name));
    if (found)
        return (int64_t)*found;
    uint32_t node = path_tree_child(&stats->tree, parent, name, 0);
    if (!range_rows_follow(stats, RANGE_PUSHED, owner))
        return -ENOMEM;
    if (node != PATH_OTHER && map64_put(&stats->nodes_by_name, name_key(parent, name), node) != 0)
        return -ENOMEM;
    return node;
}

/* Whether one of the first `count` nodes is this one. */
static bool is_among(const uint32_t *nodes, uint32_t count, uint32_t node)
{
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* Gives the time of a path to each of its ranges. */
static int spread(struct range_stats *stats, const struct path_weight *weight)
{
    uint32_t names[DEPTH_MAX], nodes[DEPTH_MAX];
    uint32_t root = path_tree_child(&stats->tree, PATH_NONE, weight->owner, RANGE_PUSHED);
    uint32_t depth = stacks_names(trace_stacks_get(stats->trace), weight->path, names, DEPTH_MAX);
    uint32_t parent = depth < DEPTH_MAX ? root : PATH_OTHER; /* else its outer end is missing */
    if (!range_rows_follow(stats, RANGE_PUSHED, weight->owner))
        return -ENOMEM;
    for (uint32_t i = 0; i < depth; i++) {
        int64_t node = child_by_name(stats, parent, names[i], weight->owner);
        if (node < 0)
            return -ENOMEM;
        nodes[i] = (uint32_t)node;
        struct range_row *row = range_row_at(stats, RANGE_PUSHED, nodes[i]);
        row->cpu_ns += is_among(nodes, i, nodes[i]) ? 0 : weight->cpu_ns;
        row->cpu_self_ns += i + 1 == depth ? weight->cpu_ns : 0;
        row->sample_count += i + 1 == depth ? weight->count : 0;
        parent = stats->grouping == RANGE_BY_NAME ? root : nodes[i];
    }
    return 0;
}

int range_stats_finish_samples(struct range_stats *stats)
{
    int error = index_names(stats);
    for (size_t i = 0; i < stats->weights.count && !error; i++)
        error = spread(stats, &stats->weights.items[i]);
    range_stats_free_samples(stats);
    range_stats_set_wall(stats);
    return error;
}
