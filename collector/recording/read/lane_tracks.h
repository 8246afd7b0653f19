/* SPDX-License-Identifier: MIT */
/* Events of tracks, and spans on other lanes than their thread's. Thread-safety: one thread per
 * pass. */
#ifndef ANNOT_LANE_TRACKS_H
#define ANNOT_LANE_TRACKS_H

#include "event.h"
#include "pass_state.h"

/* EVENT_SPAN on another lane, of the lane's thread. */
int span_take(struct pass *pass, struct lane *lane, const struct event *event,
              const struct args *args);

/* Path and stack of the thread at the launch of a span's work: {0} if unknown. */
struct span_origin {
    uint32_t path, stack;
};

/* Hands it out, if it is selected. */
int span_emit(struct pass *pass, const struct event *event, const struct args *args,
              const struct span_origin *origin);
struct tracks *tracks_create(void);
void tracks_destroy(struct tracks *tracks);

/* State of the thread of a track event, when the event is read. */
struct track_told {
    bool wanted; /* the thread is selected */
    bool inside; /* the event is inside one of the selection's ranges */
};

/* EVENT_TRACK_..., or EVENT_EDGE: ends the ranges that its thread began. */
int tracks_take(struct pass *pass, const struct event *event, const struct args *args,
                struct track_told told);
int tracks_begin(struct pass *pass);
int tracks_finish(struct pass *pass);

#endif
