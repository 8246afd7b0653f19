/* SPDX-License-Identifier: MIT */
/* Finds the processes that ended before the command's last exec. See launch.h. */
#include "launch.h"

#include <stdlib.h>

/* Limit of the walk to ancestors; damaged recordings may have cycles. */
enum { ANCESTORS_MAX = 64 };

static bool is_root(const struct trace_process *process)
{
    return process->parent < 0;
}

/* Returns the earliest program without a recorded parent that was replaced by another, or NULL. */
static const struct trace_process *find_first(const struct trace *trace)
{
    const struct trace_process *first = NULL;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (is_root(process) && process->end == PROCESS_EXEC && process->start_ns &&
            (!first || process->start_ns < first->start_ns))
            first = process;
    }
    return first;
}

static bool is_same(const struct trace_process *a, const struct trace_process *b)
{
    return a->pid == b->pid && a->host == b->host;
}

/* Returns the last program of the same process; NULL: an earlier one has events, so it was not only
 * a start. */
static const struct trace_process *find_last(const struct trace *trace,
                                             const struct trace_process *first)
{
    const struct trace_process *last = first;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (!is_root(process) || !is_same(process, first))
            continue;
        if (process->end == PROCESS_EXEC && process->event_count)
            return NULL;
        if (process->start_ns > last->start_ns)
            last = process;
    }
    return last;
}

static const struct trace_process *root_of(const struct trace *trace,
                                           const struct trace_process *process)
{
    for (unsigned i = 0; i < ANCESTORS_MAX && process && !is_root(process); i++)
        process = trace_process_get(trace, (uint32_t)process->parent);
    return process;
}

static bool is_before(const struct trace *trace, const struct trace_process *process,
                      const struct trace_process *command)
{
    if (!trace_process_exited(process) || process->event_count || !process->end_ns ||
        process->end_ns > command->start_ns)
        return false;
    const struct trace_process *root = root_of(trace, process);
    return root && is_same(root, command);
}

bool *launch_find(const struct trace *trace, struct launch_counts *ret_counts)
{
    uint32_t count = trace_process_count(trace);
    bool *launches = calloc((size_t)count + 1, sizeof(*launches));
    const struct trace_process *first = find_first(trace);
    const struct trace_process *command = first ? find_last(trace, first) : NULL;
    *ret_counts = (struct launch_counts){0};
    if (!launches || !command || command == first ||
        command->start_ns - first->start_ns > LAUNCH_MAX_NS)
        return launches;
    for (uint32_t i = 0; i < count; i++) {
        launches[i] = is_before(trace, trace_process_get(trace, i), command);
        ret_counts->processes += launches[i];
    }
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        uint32_t process = trace_thread_get(trace, i)->process;
        ret_counts->threads += process < count && launches[process];
    }
    return launches;
}
