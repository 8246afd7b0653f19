/* SPDX-License-Identifier: MIT */
/* The sampled blocks of a process that are not freed, by their number, each with the sample of its
 * allocation. Thread-safety: one thread per object. */
#ifndef ANNOT_HEAP_BLOCKS_H
#define ANNOT_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct heap_blocks;
struct queued_sample;

/* Keeps a copy of the sample; makes *blocks if it is NULL. 0 or -ENOMEM. */
int heap_blocks_add(struct heap_blocks **blocks, uint64_t number,
                    const struct queued_sample *sample);

/* Removes a block. False: it is unknown. */
bool heap_blocks_take(struct heap_blocks *blocks, uint64_t number,
                      struct queued_sample *ret_sample);

/* Accepts NULL. */
void heap_blocks_destroy(struct heap_blocks *blocks);

#endif
