/* SPDX-License-Identifier: MIT */
/* Our handles by those of the next tool. Only where there is one; without, programs have ours.
 *
 * Tables of 32,768 places, with larger ones behind them as needed, up to 2.8 millions in all;
 * lock-free. What finds no place is not known: a domain is then the default one, a string has no
 * name, a range has no end. Threads: any. */
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
    NVTX_MAP_REGION, /* of extension MEM, by address: also where there is no other tool */
    NVTX_MAP_COUNT
};

/* The last one of a handle wins. */
void nvtx_map_put(enum nvtx_map map, uint64_t theirs, uint64_t ours);
/* 0: not known. */
uint64_t nvtx_map_get(enum nvtx_map map, uint64_t theirs);
/* The same, and it is known no more. */
uint64_t nvtx_map_take(enum nvtx_map map, uint64_t theirs);

#endif
