/* SPDX-License-Identifier: MIT */
/* Known faults of CUPTI's versions, by its own numbers: 20 is CUDA 12.2's, 130000 is 13.0's.
 *
 * Two faults that affect other tools do not occur here: cuptiFinalize, which crashes with graphs
 * before 12.6 and restarts the numbers of calls, is never called; and a registered clock stays for
 * as long as the process lives. The hardware's event system is never switched on. */
#include "gpu_faults.h"

#include <stddef.h>
#include <stdio.h>

struct known {
    uint32_t from, before; /* versions */
    enum gpu_fault fault;
    const char *text;
};

static const struct known table[] = {
    {0, 19, GPU_FAULT_TOO_OLD, "CUDA 12.0 or later is needed"},
    {0, 20, GPU_FAULT_NO_GRAPHS, "graphs are recorded by their kernels before CUDA 12.2"},
    {0, 24, GPU_FAULT_FINALIZE,
     "before CUDA 12.6, a tool that calls cuptiFinalize crashes programs with graphs; annot does "
     "not call it"},
    {0, 27, GPU_FAULT_KEEP_BUFFERS, "before CUDA 12.9, a request for a buffer must be met"},
    {0, 130300, GPU_FAULT_ALONE, "before CUDA 13.3, it serves one tool at a time"},
    {130300, 130400, GPU_FAULT_CLOCK,
     "before CUDA 13.4, times beside another tool are by its clock, and converted"},
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

const char *gpu_fault_version(uint32_t version, char text[32])
{
    static const struct {
        uint32_t version;
        const char *name;
    } names[] = {{18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"},
                 {23, "12.5"}, {24, "12.6"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9"}};

    text[0] = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].version == version)
            snprintf(text, 32, "%s", names[i].name);
    if (version >= 130000)
        snprintf(text, 32, "%u.%u", version / 10000, version / 100 % 100);
    return text;
}
