/* SPDX-License-Identifier: MIT */
/* What is known of versions of CUPTI, by its own numbers: 20 is CUDA 12.2's, 130000 is 13.0's.
 *
 * Two that other tools meet are met by nobody here: cuptiFinalize, which crashes with graphs before
 * 12.6 and begins the numbers of calls anew, is never called; and a registered clock stays for as
 * long as the process lives. */
#include "gpu_parts.h"

struct known {
    uint32_t from, before; /* versions */
    enum gpu_fault fault;
    const char *text;
};

static const struct known table[] = {
    {0, 19, GPU_FAULT_TOO_OLD, "CUDA 12.0 or later is needed"},
    {0, 20, GPU_FAULT_NO_GRAPHS, "graphs are recorded by their kernels before CUDA 12.2"},
    {0, 27, GPU_FAULT_KEEP_BUFFERS, "before CUDA 12.9, a request for a buffer must be met"},
};

enum { KNOWN_COUNT = sizeof(table) / sizeof(table[0]) };

uint32_t gpu_faults(uint32_t version)
{
    uint32_t faults = 0;
    for (int i = 0; i < KNOWN_COUNT; i++)
        if (version >= table[i].from && version < table[i].before)
            faults |= table[i].fault;
    return faults;
}

const char *gpu_fault_text(enum gpu_fault fault)
{
    for (int i = 0; i < KNOWN_COUNT; i++)
        if (table[i].fault == fault)
            return table[i].text;
    return NULL;
}
