/* SPDX-License-Identifier: MIT */
/* NVTX 3, headers only: no tool is injected. It has no counter here; a mark takes its place. */
#include "rival.h"

#include <nvtx3/nvToolsExt.h>

void rival_begin(const char *trace)
{
    (void)trace;
}

void rival_end(void)
{
}

void rival_pairs(int count)
{
    for (int i = 0; i < count; i++) {
        nvtxRangePushA("bench");
        nvtxRangePop();
    }
}

void rival_counters(int count)
{
    for (int i = 0; i < count; i++)
        nvtxMarkA("bench counter");
}
