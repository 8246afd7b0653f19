/* SPDX-License-Identifier: MIT */
/* Adds samples to the rows of range_stats.h.
 *
 * CPU time is first summed by path, and added to the rows at the end. Ranges of the thread, of the
 * tracks that it ran, inherited ranges of a forked process, and ranges with a lost start have rows
 * of separate kinds, each as if the others did not exist; self time belongs to the innermost range
 * of any kind, so that its sum over all rows is the total. Thread-safety: none. */
#include "range_paths.h"

#include "range_rows.h"
#include "stacks.h"

#include <errno.h>

void range_stats_free_samples(struct range_stats *stats)
{
    vec_free(&stats->weights);
    map64_free(&stats->weight_index);
}

uint32_t range_stats_owner(const struct range_stats *stats, uint32_t thread)
{
    if (stats->grouping == RANGE_BY_THREAD)
        return thread;
    const struct trace_thread *entry = trace_thread_get(stats->trace, thread);
    return stats->grouping == RANGE_BY_PROCESS && entry ? entry->process : RANGE_NO_OWNER;
}

static enum range_kind row_kind(const struct range_stats *stats, const struct range_path *range)
{
    if (range_is_inherited(stats, range->scope))
        return RANGE_INHERITED;
    switch ((enum range_path_kind)range->kind) {
    case RANGE_PATH_THREAD:
    case RANGE_PATH_PROBED:
        return RANGE_PUSHED;
    case RANGE_PATH_INHERITED:
        return RANGE_INHERITED;
    case RANGE_PATH_UNRECORDED:
        return RANGE_UNRECORDED;
    default:
        return RANGE_TRACK;
    }
}

int range_stats_take_sample(struct range_stats *stats, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(stats->trace);
    int64_t last_ns = sample_order_ns(sample);
    stats->last_ns = last_ns > stats->last_ns ? last_ns : stats->last_ns;
    if (!sample_weight_takes(stats->weight, sets, sample))
        return 0;
    uint64_t cpu_ns = sample_weight_of(stats->weight, sets, sample);
    stats->totals.cpu_ns += cpu_ns;
    if (sample->path == 0) {
        stats->totals.cpu_outside_ns += cpu_ns;
        return 0;
    }
    if (row_kind(stats, stacks_get_path(trace_stacks_get(stats->trace), sample->path)) ==
        RANGE_INHERITED)
        stats->totals.cpu_inherited_ns += cpu_ns;
    uint32_t owner = range_stats_owner(stats, sample->thread);
    uint64_t key = (uint64_t)owner << 32 | sample->path; /* nonzero, as the path is */
    uint64_t *found = map64_find(&stats->weight_index, key);
    if (!found) {
        struct path_weight fresh = {.owner = owner, .path = sample->path};
        if (vec_push(&stats->weights, fresh) != 0 ||
            map64_put(&stats->weight_index, key, stats->weights.count) != 0)
            return -ENOMEM;
        found = map64_find(&stats->weight_index, key);
    }
    struct path_weight *weight = &stats->weights.items[*found - 1];
    weight->cpu_ns += cpu_ns;
    weight->count += sample_weight_count(stats->weight, sample);
    return 0;
}

/* Position among the ranges of one kind, while a path is followed inwards. */
struct branch {
    uint32_t owner, root, parent;
    bool started;
    bool is_cut; /* its outer end is missing */
};

static int start_branch(struct range_stats *stats, struct branch *branch, enum range_kind kind,
                        uint32_t owner)
{
    branch->started = true;
    branch->owner = owner;
    branch->root = path_tree_child(&stats->tree, PATH_NONE, owner, kind);
    branch->parent = kind == RANGE_TRACK ? PATH_OTHER : branch->root; /* has its own root */
    return range_rows_follow(stats, kind, owner) ? 0 : -ENOMEM;
}

/* Returns the ranges of a path, outermost first; at most the RANGE_PATH_MAX innermost. */
static uint32_t ranges_of(const struct stacks *stacks, uint32_t path, struct range_path *ranges)
{
    uint32_t depth = 0, at = path;
    for (; at != 0 && depth < RANGE_PATH_MAX; at = ranges[depth++].parent)
        ranges[depth] = *stacks_get_path(stacks, at);
    for (uint32_t i = 0; i < depth / 2; i++) {
        struct range_path swapped = ranges[i];
        ranges[i] = ranges[depth - 1 - i];
        ranges[depth - 1 - i] = swapped;
    }
    return depth;
}

/* Moves the branch to the node of a range. 0 or -ENOMEM. */
static int follow(struct range_stats *stats, struct branch *branch, enum range_kind kind,
                  uint32_t owner, const struct range_path *range)
{
    if (!branch->started && start_branch(stats, branch, kind, owner) != 0)
        return -ENOMEM;
    if (branch->is_cut)
        branch->parent = PATH_OTHER;
    branch->is_cut = false;
    if (stats->grouping == RANGE_BY_NAME || range->kind == RANGE_PATH_TRACK)
        branch->parent = branch->root;
    uint32_t domain = trace_scope_domain(stats->trace, range->scope);
    branch->parent = path_tree_child(&stats->tree, branch->parent, range->name, domain);
    return range_rows_follow(stats, kind, branch->owner) ? 0 : -ENOMEM;
}

uint32_t range_stats_path_rows(struct range_stats *stats, uint32_t owner, uint32_t path,
                               uint32_t rows[RANGE_PATH_MAX])
{
    struct range_path ranges[RANGE_PATH_MAX];
    struct branch branches[RANGE_KIND_COUNT] = {0};
    uint32_t depth = ranges_of(trace_stacks_get(stats->trace), path, ranges);
    for (uint32_t i = 0; i < depth; i++) {
        enum range_kind kind = row_kind(stats, &ranges[i]);
        struct branch *branch = &branches[kind];
        branch->is_cut = i == 0 && depth == RANGE_PATH_MAX;
        if (follow(stats, branch, kind, owner, &ranges[i]) != 0)
            return UINT32_MAX;
        rows[i] = (uint32_t)(range_row_at(stats, kind, branch->parent) - stats->rows.items);
        /* Around a task, an inherited range is also part of the paths of the thread's own
         * ranges. */
        if (kind == RANGE_INHERITED && ranges[i].kind == RANGE_PATH_THREAD &&
            follow(stats, &branches[RANGE_PUSHED], RANGE_PUSHED, owner, &ranges[i]) != 0)
            return UINT32_MAX;
    }
    return depth;
}

/* Adds the time of a path to each of its ranges. */
static int spread(struct range_stats *stats, const struct path_weight *weight)
{
    uint32_t rows[RANGE_PATH_MAX];
    uint32_t depth = range_stats_path_rows(stats, weight->owner, weight->path, rows);
    if (depth == UINT32_MAX)
        return -ENOMEM;
    for (uint32_t i = 0; i < depth; i++) {
        struct range_row *row = &stats->rows.items[rows[i]];
        bool again = range_is_among(rows, i, rows[i]);
        row->cpu_ns += again ? 0 : weight->cpu_ns;
        row->sample_count += again ? 0 : weight->count;
        row->cpu_self_ns += i + 1 == depth ? weight->cpu_ns : 0;
    }
    return 0;
}

int range_stats_finish_samples(struct range_stats *stats)
{
    int error = 0;
    for (size_t i = 0; i < stats->weights.count && !error; i++)
        error = spread(stats, &stats->weights.items[i]);
    range_stats_free_samples(stats);
    return error;
}
