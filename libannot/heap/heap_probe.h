/* SPDX-License-Identifier: MIT */
/* The functions that a recording watches: libannot-heap calls them for each sampled block, and the
 * kernel's probes at them read the arguments and the stack. Without a recording they do nothing.
 *
 * Threads: any. They must not allocate. */
#ifndef ANNOT_HEAP_PROBE_H
#define ANNOT_HEAP_PROBE_H

#include <stdint.h>

/* A sampled block was allocated. Its number is unique in the process and its forks' common past;
 * 0: no free will be reported, as too many sampled blocks are live.
 * `size` is the requested number of bytes; `weight` is the estimated number of bytes, in all
 * blocks, that the sample stands for. */
void annot_heap_allocated_v1(uint64_t number, uint64_t size, uint64_t weight);

/* The sampled block with that number was freed. */
void annot_heap_freed_v1(uint64_t number);

#endif
