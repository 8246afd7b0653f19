/* SPDX-License-Identifier: MIT */
/* Our domains and strings by the handles that programs pass to extensions: our own numbers, or
 * those of the next tool, where there is one. Threads: any. */
#ifndef ANNOT_NVTX_KNOWN_H
#define ANNOT_NVTX_KNOWN_H

#include "nvtx_map.h"
#include "nvtx_next.h"
#include "nvtx_scope.h"

/* One that is neither tool's is the default domain. */
static inline annot_domain nvtx_domain_known(nvtxDomainHandle_t handle)
{
    uint64_t number = (uintptr_t)handle;
    if (nvtx_next_is_there()) {
        uint64_t ours = nvtx_map_get(NVTX_MAP_DOMAIN, number);
        number = ours ? ours : number;
    }
    return nvtx_domain_of(number <= UINT16_MAX ? (nvtxDomainHandle_t)(uintptr_t)number : NULL);
}

static inline nvtxStringHandle_t nvtx_string_known(nvtxStringHandle_t handle)
{
    uint64_t ours = nvtx_next_is_there() ? nvtx_map_get(NVTX_MAP_STRING, (uintptr_t)handle) : 0;
    return ours ? (nvtxStringHandle_t)(uintptr_t)ours : handle;
}

/* The next tool's function of a slot, with its type; NULL: it has none. 1 is NVTX's "none". */
#define NVTX_NEXT_EXTENSION(module, slot, type)                                                    \
    ((uintptr_t)nvtx_next_extension_of(module, slot) > 1                                           \
         ? (type)nvtx_next_extension_of(module, slot)                                              \
         : (type)0)

#endif
