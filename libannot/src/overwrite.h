/* SPDX-License-Identifier: MIT */
/* The flight recorder: where no block is free, the oldest one that was released is filled anew.
 *
 * Threads: any, lock-free. What is overwritten stays counted, exactly: each block tells what the
 * earlier ones of its thread held, so any later block of that thread accounts for them. Of a thread
 * that has left, the last block is marked; whoever takes it adds the thread's totals to the
 * counters of the segment.
 * Invariant: of one thread, blocks are overwritten in their order; what is left is the end of its
 * stream, without holes. */
#ifndef ANNOT_OVERWRITE_H
#define ANNOT_OVERWRITE_H

#include "control.h"

/* Takes the oldest released block; its state is FREE then, as after block_claim. Returns 0, or
 * -ENOBUFS: all blocks are being filled. Cost: some loads and two swaps; a look at each block that
 * is being filled on the way. */
int overwrite_claim(struct segment *segment, uint32_t *ret_index);

/* Counts the records of the thread's block, which is about to be released: by the thread, or by who
 * found it dead. */
void overwrite_count(struct control *control);

/* What a new block tells of those before it; before `reported` is brought up to date. */
void overwrite_fill(const struct control *control, struct annot_block *block);

/* The thread has released its last block, if it had any: marks that, or, where it is overwritten
 * already, counts what it stood for. */
void overwrite_leave(const struct control *control, struct segment *segment);

#endif
