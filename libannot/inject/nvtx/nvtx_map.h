/* SPDX-License-Identifier: MIT */
/* Maps the next tool's handles to ours. Used only with a next tool; without one, programs have
 * ours.
 *
 * Tables of 32,768 entries, followed by larger ones as needed, up to 2.8 million in all; lock-free.
 * A handle without an entry is unknown: a domain is then the default one, a string has no name, a
 * range has no end. Threads: any. */
#ifndef ANNOT_NVTX_MAP_H
#define ANNOT_NVTX_MAP_H

#include <stdint.h>

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

#endif
