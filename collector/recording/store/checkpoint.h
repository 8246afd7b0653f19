/* SPDX-License-Identifier: MIT */
/* What is open: all that a reader would know of the events before a place in the recording. A
 * CHECKPOINT is that as events, so that a reader which begins there needs no other rules than one
 * that has read all before.
 *
 * Kept while events are written: the open pushed ranges of each thread, starts without an end and
 * ends without a start. What is open on tracks depends on the order of time between threads, which
 * is not known yet: after the first event of a track there are no more checkpoints. Thread-safety:
 * none. */
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

/* The next events of a thread, which `trace` has. `after`: what the encoder knew after it had taken
 * just these; NULL: it has not. 0 or -ENOMEM. Cost: about 2 ns an event, but for plain ranges with
 * `after`: next to nothing. */
int checkpoint_add(struct checkpoint *checkpoint, const struct trace *trace,
                   const struct event_batch *batch, const struct thread_state *after);

/* The next events of any thread, also those that are in no checkpoint: whether ids are mixed. 0 or
 * -ENOMEM. */
int checkpoint_note_ids(struct checkpoint *checkpoint, const struct trace *trace,
                        const struct event_batch *batch);

/* Several threads used an id so that its starts and ends pair otherwise in order of time than in
 * the order of the file; nothing else that is kept tells. It may go unnoticed where thousands of
 * other ids were used in between. */
bool checkpoint_ids_mixed(const struct checkpoint *checkpoint);

/* Some of them were told at this time. */
void checkpoint_told(struct checkpoint *checkpoint, int64_t time_ns);

/* When the last of them all was told. */
int64_t checkpoint_told_ns(const struct checkpoint *checkpoint);

/* What is open, into an encoder that is empty. `threads`: by ordinal, as many as have events. 1; 0:
 * there is none, too much is open or not in order; -ENOMEM. */
int checkpoint_encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                      struct event_encoder *encoder);

#endif
