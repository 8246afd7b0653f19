/* SPDX-License-Identifier: MIT */
/* The flight recorder: without a free block, the oldest released one is reused.
 *
 * Threads: any, lock-free. Overwritten records stay counted, exactly: each block header has the
 * totals of the earlier blocks of its thread, so any later block of that thread accounts for them.
 * The last block of a thread that has left is marked; the thread that takes it adds its totals to
 * the counters of the segment.
 * Invariant: blocks of one thread are overwritten in their order; the rest is the end of its
 * stream, without holes. */
#ifndef ANNOT_OVERWRITE_H
#define ANNOT_OVERWRITE_H

#include "control.h"

/* Takes the oldest released block; its state is FREE then, as after block_claim. Returns 0, or
 * -ENOBUFS if all blocks are being filled. Cost: some loads and two swaps; a few loads for each
 * block that is being filled on the way. */
int overwrite_claim(struct segment *segment, uint32_t *ret_index);

/* Counts the records of the thread's block, which is about to be released: by the thread, or by the
 * thread that found it dead. */
void overwrite_count(struct control *control);

/* Fills the totals of earlier blocks in a new block's header; before `reported` is updated. */
void overwrite_fill(const struct control *control, struct annot_block *block);

/* The thread has released its last block, if any: marks it, or, if it is overwritten already,
 * counts its totals. */
void overwrite_leave(const struct control *control, struct segment *segment);

#endif
