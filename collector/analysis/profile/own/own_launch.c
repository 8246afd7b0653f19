/* SPDX-License-Identifier: MIT */
/* Stacks of the command's start: see own_parts.h. */
#include "own_parts.h"

#include "launch.h"

#include <stdlib.h>

static bool is_launch(const struct trace *trace, const bool *launches, uint32_t thread)
{
    return thread < trace_thread_count(trace) && launches[trace_thread_get(trace, thread)->process];
}

bool *own_launch_stacks(const struct own_sums *sums)
{
    uint32_t count = stacks_stack_count(trace_stacks_get(sums->trace));
    bool *stacks = calloc((size_t)count + 1, sizeof(*stacks));
    struct launch_counts counts;
    bool *launches = launch_find(sums->trace, &counts);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] |= is_launch(sums->trace, launches, sums->items[i].thread);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] &= is_launch(sums->trace, launches, sums->items[i].thread);
    if (!launches) {
        free(stacks);
        stacks = NULL;
    }
    free(launches);
    return stacks;
}
