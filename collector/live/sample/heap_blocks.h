/* SPDX-License-Identifier: MIT */
/* The sampled blocks of a process that are not freed, by their number, each with the sample of its
 * allocation; and the bytes that they stand for. Thread-safety: one thread per object. */
#ifndef ANNOT_HEAP_BLOCKS_H
#define ANNOT_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct heap_blocks;
struct queued_sample;

/* Keeps a copy of the sample; makes *blocks if it is NULL. Number 0: a block without a report of
 * its free, which stays live. 0 or -ENOMEM. */
int heap_blocks_add(struct heap_blocks **blocks, uint64_t number,
                    const struct queued_sample *sample);

/* Removes a block that was freed at that time. False: it is unknown. */
bool heap_blocks_take(struct heap_blocks *blocks, uint64_t number, uint64_t time_ns,
                      struct queued_sample *ret_sample);

/* Bytes at a time. */
struct heap_level {
    int64_t bytes;
    uint64_t time_ns;
};

/* Estimated bytes of live blocks: the most since the last call, those at the marked time, and at
 * the last change. Zeros if `blocks` is NULL. */
struct heap_levels {
    struct heap_level most, marked, last;
};

void heap_blocks_levels(struct heap_blocks *blocks, struct heap_levels *ret_levels);

/* Marks a time: changes up to then may still come. NULL is accepted. */
void heap_blocks_mark(struct heap_blocks *blocks, uint64_t time_ns);

/* Accepts NULL. */
void heap_blocks_destroy(struct heap_blocks *blocks);

#endif
