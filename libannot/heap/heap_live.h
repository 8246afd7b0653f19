/* SPDX-License-Identifier: MIT */
/* The sampled blocks that are allocated now, by address, and a filter by which free() recognizes
 * most other blocks in one load.
 *
 * Lock-free: a fork in one thread while another inserts leaves a usable table. Threads: any; a
 * block is inserted by its allocator and removed by whoever frees it, before the address can be
 * given out again. */
#ifndef ANNOT_HEAP_LIVE_H
#define ANNOT_HEAP_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HEAP_FILTER_BITS = 16,
    HEAP_LIVE_MAX = 1 << 16, /* 32 GiB of live blocks at a rate of 512 KiB */
};

/* By page: number of sampled blocks there, which stays at its maximum once reached. */
extern _Atomic uint8_t heap_filter[1 << HEAP_FILTER_BITS];

static inline uint32_t heap_filter_slot(uintptr_t address)
{
    return (uint32_t)((address >> 12) ^ (address >> 28)) & ((1u << HEAP_FILTER_BITS) - 1);
}

/* False: no sampled block has this address. */
static inline bool heap_may_be_live(const void *block)
{
    return atomic_load_explicit(&heap_filter[heap_filter_slot((uintptr_t)block)],
                                memory_order_relaxed) != 0;
}

/* False without effect if there is no room. */
bool heap_live_add(const void *block, uint64_t number);

/* Removes a block and returns its number; 0 if it was not sampled. */
uint64_t heap_live_remove(const void *block);

#endif
