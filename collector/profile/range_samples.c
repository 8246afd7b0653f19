/* SPDX-License-Identifier: MIT */
/* What samples add to the rows of range_stats.h.
 *
 * CPU time is added up by path first, and goes to the rows once all is in. A path knows names only:
 * of ranges with that name and different domains, the one without a domain gets it, else the first.
 * A path without a row (its ranges' records were dropped, or a forked child inherited it) gets one,
 * whose count is 0. Ranges of the thread and of the tracks that it ran have rows of their own
 * kinds, as if there were no others; what is in no further range is the innermost's, of whichever
 * kind, so that these times add up over both. Thread-safety: none. */
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

/* Where the ranges of one kind are, as a path is followed inwards. */
struct branch {
    enum range_kind kind;
    uint32_t owner, root, parent;
};

static int start_branch(struct range_stats *stats, struct branch *branch, enum range_kind kind,
                        uint32_t owner)
{
    *branch = (struct branch){.kind = kind, .owner = owner};
    branch->root = branch->parent = path_tree_child(&stats->tree, PATH_NONE, owner, kind);
    return range_rows_follow(stats, kind, owner) ? 0 : -ENOMEM;
}

/* PATH_OTHER if there is no room; -ENOMEM. */
static int64_t child_by_name(struct range_stats *stats, const struct branch *branch, uint32_t name)
{
    uint32_t parent = branch->parent;
    const uint64_t *found = map64_find(&stats->nodes_by_name, name_key(parent, name));
    if (found)
        return (int64_t)*found;
    uint32_t node = path_tree_child(&stats->tree, parent, name, 0);
    if (!range_rows_follow(stats, branch->kind, branch->owner))
        return -ENOMEM;
    if (node != PATH_OTHER && map64_put(&stats->nodes_by_name, name_key(parent, name), node) != 0)
        return -ENOMEM;
    return node;
}

/* Whether the row is that of one of the ranges around it. */
static bool is_among(struct range_row *const *rows, uint32_t count, const struct range_row *row)
{
    for (uint32_t i = 0; i < count; i++)
        if (rows[i] == row)
            return true;
    return false;
}

/* The ranges of a path, outermost first; at most DEPTH_MAX, the innermost. */
static uint32_t ranges_of(const struct stacks *stacks, uint32_t path, struct range_path *ranges)
{
    uint32_t depth = 0, at = path;
    for (; at != 0 && depth < DEPTH_MAX; at = ranges[depth++].parent)
        ranges[depth] = *stacks_get_path(stacks, at);
    for (uint32_t i = 0; i < depth / 2; i++) {
        struct range_path swapped = ranges[i];
        ranges[i] = ranges[depth - 1 - i];
        ranges[depth - 1 - i] = swapped;
    }
    return depth;
}

/* Of the thread, and if there are any, of tracks. */
static int start_branches(struct range_stats *stats, struct branch *branches, uint32_t owner,
                          const struct range_path *ranges, uint32_t depth)
{
    bool on_track = false;
    for (uint32_t i = 0; i < depth; i++)
        on_track = on_track || ranges[i].kind != RANGE_PATH_THREAD;
    if (start_branch(stats, &branches[0], RANGE_PUSHED, owner) != 0 ||
        (on_track && start_branch(stats, &branches[1], RANGE_TRACK, owner) != 0))
        return -ENOMEM;
    if (depth == DEPTH_MAX) /* its outer end is missing */
        branches[0].parent = PATH_OTHER;
    branches[1].parent = PATH_OTHER; /* the same, unless one begins its track */
    return 0;
}

/* The node of a range, from which the branch goes on. */
static int64_t follow(struct range_stats *stats, struct branch *branch,
                      const struct range_path *range)
{
    if (stats->grouping == RANGE_BY_NAME || range->kind == RANGE_PATH_TRACK)
        branch->parent = branch->root;
    int64_t node = child_by_name(stats, branch, range->name);
    if (node >= 0)
        branch->parent = (uint32_t)node;
    return node;
}

/* Gives the time of a path to each of its ranges. */
static int spread(struct range_stats *stats, const struct path_weight *weight)
{
    struct range_path ranges[DEPTH_MAX];
    uint32_t nodes[DEPTH_MAX], depth;
    struct range_row *rows[DEPTH_MAX];
    struct branch branches[2];
    depth = ranges_of(trace_stacks_get(stats->trace), weight->path, ranges);
    if (start_branches(stats, branches, weight->owner, ranges, depth) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < depth; i++) {
        int64_t node = follow(stats, &branches[ranges[i].kind != RANGE_PATH_THREAD], &ranges[i]);
        if (node < 0)
            return -ENOMEM;
        nodes[i] = (uint32_t)node;
    }
    for (uint32_t i = 0; i < depth; i++) { /* rows stay where they are from here on */
        rows[i] = range_row_at(stats, branches[ranges[i].kind != RANGE_PATH_THREAD].kind, nodes[i]);
        rows[i]->cpu_ns += is_among(rows, i, rows[i]) ? 0 : weight->cpu_ns;
        rows[i]->cpu_self_ns += i + 1 == depth ? weight->cpu_ns : 0;
        rows[i]->sample_count += i + 1 == depth ? weight->count : 0;
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
