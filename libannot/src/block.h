/* SPDX-License-Identifier: MIT */
/* The pool of blocks: claim and release, without locks.
 *
 * Threads: any. Free blocks stand on a Treiber stack with a tagged head, most recently freed first,
 * so that a block is reused while it is still in cache; blocks never used are taken by raising
 * high_water. Indexes found in shared memory are bounded before use.
 * Invariants: a block belongs to the thread that popped it until it stores RELEASED, then to the
 * collector until it pushes it. A block is touched only once its memory is reserved. */
#ifndef ANNOT_BLOCK_H
#define ANNOT_BLOCK_H

#include "segment.h"

/* Takes a block off the pool; its state is still FREE, so that the caller can fill the header.
 * Returns 0, -ENOBUFS (pool empty) or -ENOMEM (the file system is full).
 * Cost: some loads and one swap; with a fresh extent, a system call of about 100 us. */
int block_claim(struct segment *segment, uint32_t *ret_index);

/* True if a claim may succeed. Cost: two loads. */
int block_available(const struct segment *segment);

/* FREE -> CLAIMED, or SUMS: the header is filled. Returns the new state, with the tag of this
 * claim. */
uint32_t block_publish(struct segment *segment, uint32_t index, enum annot_block_state as);

/* CLAIMED -> RELEASED. Returns 1, or 0 if it was not CLAIMED. */
int block_release(struct segment *segment, uint32_t index);

/* SUMS -> SUMS_DONE: all blocks of a thread. Cost: a load for each block that was ever claimed. */
void block_end_sums(struct segment *segment, uint32_t thread_serial);

/* Puts a free block on the stack. */
void block_push(struct segment *segment, uint32_t index);

#endif
