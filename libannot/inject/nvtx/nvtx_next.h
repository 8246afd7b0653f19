/* SPDX-License-Identifier: MIT */
/* An NVTX tool that was set before annot: it gets separate tables, and our callbacks call its
 * functions.
 *
 * With such a tool, handles and numbers of ranges are the tool's, so that features unknown to annot
 * still work between the program and it; ours are looked up by them. All images of a
 * process share the next tool's tables, as they share ours. Threads: any. */
#ifndef ANNOT_NVTX_NEXT_H
#define ANNOT_NVTX_NEXT_H

#include "nvtx.h"
#include "nvtx_extension.h"
#include "nvtx_scope.h"

#include <stdint.h>

/* Initialises the next tool, if there is one, for an image. */
void nvtx_next_offer(NvtxGetExportTableFunc_t get_table);

/* The same for an extension of an image; slots that only the next tool fills are copied to it. */
void nvtx_next_offer_extension(struct nvtx_extension *extension);

/* True if the next tool has been initialised. */
int nvtx_next_is_there(void);

/* Returns the next tool's function of a slot, or 0. */
intptr_t nvtx_next_extension_of(uint32_t module, uint32_t slot);

/* Returns the next tool's function of a callback, or NULL. */
NvtxFunctionPointer nvtx_next_of(uint32_t module, uint32_t id);

/* Returns our callback that calls ours and the next tool's, or NULL for an unknown id. */
NvtxFunctionPointer nvtx_next_call(uint32_t module, uint32_t id);

/* ---- Their handles and ours ------------------------------------------------------------------ */

/* Maps the next tool's handles to ours. Used only with a next tool; without one, programs have
 * ours. Tables of 32,768 entries, followed by larger ones as needed, up to 2.8 million in all;
 * lock-free. A handle without an entry is unknown: a domain is then the default one, a string has
 * no name, a range has no end. */
enum nvtx_map {
    NVTX_MAP_DOMAIN,
    NVTX_MAP_STRING,
    NVTX_MAP_RANGE,
    NVTX_MAP_RESOURCE,
    NVTX_MAP_SYNC,
    NVTX_MAP_HEAP,
    NVTX_MAP_REGION, /* of extension MEM, by address: also without another tool */
    NVTX_MAP_COUNT
};

/* The last value of a handle wins. */
void nvtx_map_put(enum nvtx_map map, uint64_t theirs, uint64_t ours);
/* Returns 0 for an unknown handle. */
uint64_t nvtx_map_get(enum nvtx_map map, uint64_t theirs);
/* The same, and removes the entry. */
uint64_t nvtx_map_take(enum nvtx_map map, uint64_t theirs);

/* ---- Handles that programs pass to extensions ------------------------------------------------ */

/* They are our numbers; or, with a next tool, its numbers. */

/* A handle unknown to both tools is the default domain. */
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

/* The next tool's function of a slot, with its type, or NULL. 1 is NVTX's "none". */
#define NVTX_NEXT_EXTENSION(module, slot, type)                                                    \
    ((uintptr_t)nvtx_next_extension_of(module, slot) > 1                                           \
         ? (type)nvtx_next_extension_of(module, slot)                                              \
         : (type)0)

#endif
