/* SPDX-License-Identifier: MIT */
/* Functions and paths of calls. See call_sums.h. */
#include "call_sums.h"

#include "stacks.h"

#include <errno.h>

uint32_t calls_group_of(const struct calls *calls, uint32_t thread)
{
    const struct trace_thread *known = trace_thread_get(calls->trace, thread);
    if (calls->options.group == CALLS_TOGETHER)
        return 0;
    return calls->options.group == CALLS_BY_THREAD ? thread : known ? known->process : 0;
}

int64_t calls_function_of(struct calls *calls, uint32_t group, uint32_t label, uint32_t name)
{
    const struct wide_key *key = WIDE_KEY(group, label, label ? 0 : name);
    const uint64_t *found = wide_map_find(&calls->function_by_key, key);
    const uint8_t flags = stacks_get_label(trace_stacks_get(calls->trace), label)->flags;
    const struct call_function fresh = {.label = label,
                                        .name = label ? 0 : name,
                                        .group = group,
                                        .context = flags & (LABEL_TASK | LABEL_RANGE),
                                        .min_ns = UINT64_MAX};
    if (found)
        return (int64_t)*found;
    if (vec_push(&calls->functions, fresh) != 0 ||
        wide_map_put(&calls->function_by_key, key, calls->functions.count) != 0)
        return -ENOMEM;
    return (int64_t)calls->functions.count;
}

int64_t calls_path_of(struct calls *calls, uint32_t parent, uint32_t function)
{
    uint64_t key = calls_key(parent, function);
    const uint64_t *found = map64_find(&calls->path_by_key, key);
    const struct call_path fresh = {.parent = parent, .function = function};
    if (found)
        return (int64_t)*found;
    if (calls->paths.count >= calls->options.path_limit)
        return 0;
    if (map64_put(&calls->path_by_key, key, calls->paths.count) != 0 ||
        vec_push(&calls->paths, fresh) != 0)
        return -ENOMEM;
    return (int64_t)calls->paths.count - 1;
}

void calls_add(struct calls *calls, const struct call_count *count)
{
    bool counts = !calls->functions.items[count->function - 1].context;
    calls->totals.calls += counts ? count->calls : 0;
    calls->totals.own_ns += count->own_ns;
    if (count->path) {
        struct call_path *path = &calls->paths.items[count->path];
        path->calls += counts ? count->calls : 0;
        path->own_ns += count->own_ns;
        path->off_ns += count->off_ns;
        return;
    }
    struct call_function *function = &calls->functions.items[count->function - 1];
    function->sum.calls += count->calls;
    function->sum.primitive += count->calls;
    function->sum.own_ns += count->own_ns;
    function->sum.total_ns += count->own_ns;
    function->off_ns += count->off_ns;
    calls->paths.items[count->parent].unplaced_ns += count->own_ns;
    calls->totals.no_path_calls += count->calls;
}
