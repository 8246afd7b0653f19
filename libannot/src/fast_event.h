/* SPDX-License-Identifier: MIT */
/* The fast path of events with attributes, key-values, or series of a counter.
 *
 * Threads: any. Each returns 1, or 0 without effect: then emit_general handles the event. The parts
 * are written in place, after the record's; an event that cannot be finished was never visible. */
#ifndef ANNOT_FAST_EVENT_H
#define ANNOT_FAST_EVENT_H

#include "control.h"

#include <annot/annot.h>

/* PUSH, MARK; with a track, TRACK_BEGIN and TRACK_MARK. */
int fast_event(struct control *control, uint8_t kind, const struct annot_event *event,
               const struct annot_track *track);

int fast_counters(struct control *control, annot_name name, const struct annot_value *values,
                  uint64_t count);

#endif
