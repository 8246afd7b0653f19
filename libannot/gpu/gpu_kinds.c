/* SPDX-License-Identifier: MIT */
/* Which kinds of activities a window has.
 * Threads: that of the window, one after the other. */
#include "gpu_parts.h"

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_OVERHEAD,
};

/* Without it, a graph is its kernels. */
static bool has_whole_graphs(void)
{
    return !gpu_settings.nodes && !(gpu_faults(cupti.version) & GPU_FAULT_NO_GRAPHS);
}

void gpu_kinds_enable(bool on)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        gpu_session_enable(kinds[i], on);
    if (has_whole_graphs() || !on)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
}
