/* SPDX-License-Identifier: MIT */
/* The tracks of slices.h: events of all tracks in order of time, begins paired with ends.
 *
 * What is told of a track is only the order of its events, and these come from any threads, whose
 * batches are in the order in which they were collected. So events wait until nothing earlier can
 * come; if that is not known, or too many wait, the older half goes on. Part of slices.c.
 * Thread-safety: none. */
#ifndef ANNOT_MODEL_TRACK_SLICES_H
#define ANNOT_MODEL_TRACK_SLICES_H

#include "slices.h"

struct track_slices;

/* `trace` and `sink` outlive the object. NULL: out of memory. */
struct track_slices *track_slices_create(const struct trace *trace, const struct slice_sink *sink);
void track_slices_destroy(struct track_slices *tracks);

/* EVENT_TRACK_..., or EVENT_EDGE: ends the ranges of tracks that its thread began. 0, -ENOMEM, or
 * what a callback returned. */
int track_slices_add(struct track_slices *tracks, const struct event *event,
                     const struct slice_values *values);

/* Before the first event: all will come in order of time, so none has to wait. */
void track_slices_in_order(struct track_slices *tracks);

/* No event before this will come: see event_batch. */
void track_slices_settle(struct track_slices *tracks, int64_t settled_ns);

/* Passes on what waits and ends what is open; `last_ns`: see range_end_ns. */
int track_slices_finish(struct track_slices *tracks, int64_t last_ns);

/* Ends of tracks on which no range was open. */
uint64_t track_slices_orphan_count(const struct track_slices *tracks);

#endif
