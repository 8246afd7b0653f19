/* SPDX-License-Identifier: MIT */
/* Extensions of NVTX: each image offers each that it uses, as slots for functions.
 *
 * The layout is NVTX's since 3.1, written down once more because older headers lack it. A slot is
 * empty (0) or holds a function. */
#ifndef ANNOT_NVTX_EXTENSION_H
#define ANNOT_NVTX_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

struct nvtx_segment {
    size_t id, slot_count;
    intptr_t *slots;
};

struct nvtx_extension {
    uint16_t version, size;
    uint16_t module; /* enum nvtx_extension_module */
    uint16_t compatible;
    size_t segment_count;
    struct nvtx_segment *segments;
    intptr_t (*get_function)(uint32_t id);
    const void *info;
};

enum nvtx_extension_module {
    NVTX_EXTENSION_MEM = 1,
    NVTX_EXTENSION_PAYLOAD = 2,
    NVTX_EXTENSION_COUNTERS = 4,
};

/* What we have for an extension: functions by slot of its first segment; 0: none. A part of NVTX
 * that adds one adds its place in the table in nvtx_extension.c. */
struct nvtx_extension_calls {
    uint16_t module;
    uint16_t count;
    const intptr_t *calls;
};

extern const struct nvtx_extension_calls nvtx_payload_calls, nvtx_counters_calls, nvtx_mem_calls;

#endif
