/* SPDX-License-Identifier: MIT */
/* Open ranges at a place in the recording: all that a reader would have learned from the events
 * before it. A CHECKPOINT stores that as events, so that a reader which begins there follows the
 * same rules as one that has read all before.
 *
 * Updated while events are written: the open pushed ranges of each thread, starts without an end
 * and ends without a start. The open ranges of tracks depend on the order of time between threads,
 * which is still unknown: after the first event of a track there are no more checkpoints.
 * Thread-safety: none. */
#ifndef ANNOT_CHECKPOINT_H
#define ANNOT_CHECKPOINT_H

#include "event.h"
#include "event_encode.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint;
struct event_encoder;
struct trace;

/* NULL: out of memory. destroy accepts NULL. */
struct checkpoint *checkpoint_create(void);
void checkpoint_destroy(struct checkpoint *checkpoint);

/* The next events of a thread, which `trace` has. `after`: state of the encoder just after these;
 * NULL: not available. 0 or -ENOMEM. Cost: about 2 ns an event, but next to zero for plain ranges
 * with `after`. */
int checkpoint_add(struct checkpoint *checkpoint, const struct trace *trace,
                   const struct event_batch *batch, const struct thread_state *after);

/* The next events of any thread, including those that no checkpoint holds: checks for mixed ids. 0
 * or -ENOMEM. */
int checkpoint_note_ids(struct checkpoint *checkpoint, const struct trace *trace,
                        const struct event_batch *batch);

/* True if several threads used an id so that its starts and ends pair differently in order of time
 * than in the order of the file; no other stored field shows it. May miss cases with thousands of
 * other ids used in between. */
bool checkpoint_ids_mixed(const struct checkpoint *checkpoint);

/* Raises the latest time of all events (event_order_ns) to this one. */
void checkpoint_told(struct checkpoint *checkpoint, int64_t time_ns);

/* The latest time of all events. */
int64_t checkpoint_told_ns(const struct checkpoint *checkpoint);

/* Encodes the open ranges into an empty encoder. `threads`: by ordinal, as many as have events. 1;
 * 0: without checkpoint, as too much is open or out of order; -ENOMEM. */
int checkpoint_encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                      struct event_encoder *encoder);

#endif
