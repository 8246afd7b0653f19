/* SPDX-License-Identifier: MIT */
/* What is open: all that a reader would know of the events before a place in the recording. A
 * CHECKPOINT is that as events, so that a reader which begins there needs no other rules than one
 * that has read all before.
 *
 * Kept while events are written: the open pushed ranges of each thread, starts without an end and
 * ends without a start. What is open on tracks depends on the order of time between threads, which
 * is not known yet: after the first event of a track there are no more checkpoints. Thread-safety:
 * none. */
#ifndef ANNOT_STORE_CHECKPOINT_H
#define ANNOT_STORE_CHECKPOINT_H

#include "event_code.h"
#include "trace.h"

struct checkpoint;

/* NULL: out of memory. destroy accepts NULL. */
struct checkpoint *checkpoint_create(void);
void checkpoint_destroy(struct checkpoint *checkpoint);

/* The next events of a thread, which `trace` has. `after`: what the encoder knew after it had taken
 * just these; NULL: it has not. 0 or -ENOMEM. Cost: about 2 ns an event, but for plain ranges with
 * `after`: next to nothing. */
int checkpoint_add(struct checkpoint *checkpoint, const struct trace *trace,
                   const struct event_batch *batch, const struct thread_state *after);

/* Some of them were told at this time. */
void checkpoint_told(struct checkpoint *checkpoint, int64_t time_ns);

/* When the last of them all was told. */
int64_t checkpoint_told_ns(const struct checkpoint *checkpoint);

/* What is open, into an encoder that is empty. `threads`: by ordinal, as many as have events. 1; 0:
 * there is none, too much is open or not in order; -ENOMEM. */
int checkpoint_encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                      struct event_encoder *encoder);

#endif
