/* SPDX-License-Identifier: MIT */
/* References between the tables of a trace that somebody else has written: each leads to an entry
 * that is there, parents to a first one, so that nobody who follows them needs to look. Strings
 * need none of this: trace_string knows every ordinal. Thread-safety: the trace's owner. */
#include "trace_private.h"

#include <errno.h>
#include <stdlib.h>

/* Parents that go round: the link that closes the circle goes. `walk[i]` is the number of the walk
 * that came by process i, 0: none did. */
static int check_parents(struct trace *trace)
{
    size_t count = trace->processes.count;
    uint32_t *walk = calloc(count + 1, sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; walk[at] == 0; at = (uint32_t)trace->processes.items[at].parent) {
            walk[at] = i + 1;
            int32_t parent = trace->processes.items[at].parent;
            if (parent >= 0 && walk[parent] == i + 1)
                trace->processes.items[at].parent = -1;
            if (trace->processes.items[at].parent < 0)
                break;
        }
    }
    free(walk);
    return 0;
}

int trace_check(struct trace *trace)
{
    size_t count = trace->processes.count, thread_count = trace->threads.count;
    for (size_t i = 0; i < count; i++) {
        struct trace_process *process = &trace->processes.items[i];
        if (process->parent < 0 || (size_t)process->parent >= count || (size_t)process->parent == i)
            process->parent = -1;
        if (process->fork_thread > thread_count)
            process->fork_thread = 0;
        if (process->note_thread > thread_count)
            process->note_thread = 0;
    }
    for (size_t i = 0; i < thread_count; i++)
        if (trace->threads.items[i].process >= count)
            trace->threads.items[i].process = 0;
    int error = check_parents(trace);
    return error ? error : trace_lanes_check(trace);
}
