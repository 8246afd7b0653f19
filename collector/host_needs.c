/* SPDX-License-Identifier: MIT */
/* Sizes of a segment as libannot lays it out (libannot/src/segment.c) when nothing is told. */
#include "host_needs.h"

#include "annot_wire.h"

static uint64_t whole_pages(uint64_t size)
{
    return (size + ANNOT_PAGE_SIZE - 1) & ~(uint64_t)(ANNOT_PAGE_SIZE - 1);
}

uint64_t host_needs_memory_bytes(void)
{
    return (uint64_t)ANNOT_BLOCK_COUNT_DEFAULT * ANNOT_BLOCK_SIZE;
}

uint64_t host_needs_file_bytes(void)
{
    uint64_t threads = (uint64_t)ANNOT_THREAD_COUNT_DEFAULT * sizeof(struct annot_thread);
    uint64_t states = (uint64_t)ANNOT_BLOCK_COUNT_DEFAULT * 2 * sizeof(uint32_t);
    return whole_pages(sizeof(struct annot_segment) + threads) +
           whole_pages(ANNOT_STRINGS_SIZE_DEFAULT) + whole_pages(states) +
           host_needs_memory_bytes();
}
