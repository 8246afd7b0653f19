/* SPDX-License-Identifier: MIT */
/* The stream of one thread: its blocks in order, and the losses between them.
 *
 * Threads: all functions act for the control block's own thread, with its BUSY mark set. */
#ifndef ANNOT_STREAM_H
#define ANNOT_STREAM_H

#include "control.h"

/* Closes the block, claims the next one and fills its header. Returns 1, or 0 with last_cause set:
 * ANNOT_LOSS_SHARED, without effect, if the caller is another task with the thread's storage. */
int stream_next(struct control *control);

/* Hands the block to the collector. */
void stream_close(struct control *control);

/* Counts one lost record. Also callable from a signal handler that met BUSY. */
void stream_lose(struct control *control, enum annot_loss cause);

/* Attaches the thread to a segment (takes over the caller's reference), or detaches it: the
 * block is released, the record freed, losses not reported in blocks are added to the segment. */
void stream_attach(struct control *control, struct segment *segment);
void stream_detach(struct control *control);

/* Gets a thread record if there is none yet. Returns 1 or 0. */
int stream_register(struct control *control);

/* Releases blocks and frees records of threads that ended without notice. Rate limited. */
void stream_reclaim(struct segment *segment);

#endif
