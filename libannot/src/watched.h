/* SPDX-License-Identifier: MIT */
/* Ranges with watches (annot/watch.h), and the capture range, the only one that a session records
 * inside of.
 *
 * While there is one, no event takes the fast path: record_limit() gives 0. The watched ranges of a
 * thread's stack are listed in its struct keep, by the number of its own ranges around them; those
 * of a range with an id stand in bits of its id, which the program has and records leave out.
 *
 * Threads: any, also signal handlers; all but watch_emit with the BUSY mark. */
#ifndef ANNOT_WATCHED_H
#define ANNOT_WATCHED_H

#include "emit.h"

#include <annot/watch.h>
#include <annot_barrier.h>

/* Bit 0: the session's capture range. */
enum { WATCH_CAPTURE = 1, WATCH_BITS = 1 + ANNOT_WATCHES_MAX };

/* Of the id of a range, below RANGE_DROPPED. */
#define WATCH_ID_SHIFT 38
#define WATCH_ID_BITS  (UINT64_C(0x1f) << WATCH_ID_SHIFT)

_Static_assert(WATCH_BITS == 5, "WATCH_ID_BITS has as many");

/* Notifications due when the event is done. */
struct watch_news {
    uint64_t time;
    uint8_t begun; /* bits of watches */
    uint8_t ended[WATCH_BITS];
};

/* Bits of watches that have been set. */
extern uint32_t watch_set __attribute__((visibility("hidden")));

/* True if events of the thread must be checked. */
static inline int watch_is_on(const struct control *control)
{
    /* Partner: annot_watch_range. */
    return annot_load_acquire(&watch_set) != 0 || control->segment->is_capture;
}

/* True if the session records the thread now. */
static inline int watch_records(const struct control *control)
{
    const struct segment *segment = control->segment;
    return !segment || !segment->is_capture || annot_load_relaxed(&segment->capture_open) > 0;
}

/* Before an event: collects the watches of the range that it begins. The session's is open from
 * here on. Clears the bits in the id of a range that ends. */
void watch_see(struct control *control, struct emission *emission, struct watch_news *news);
/* After it. `own`: how many of the thread's own ranges were open before. */
void watch_note(struct control *control, struct emission *emission, uint32_t own,
                struct watch_news *news);
/* Calls the watches. Without the BUSY mark. */
void watch_emit(const struct watch_news *news);

/* levels_pop: one of the thread's own ranges was closed. */
void watch_popped(struct control *control);

/* The thread enters a segment (`is_forked`: with its parent's open ranges), or leaves it. */
void watch_attach(struct control *control, int is_forked);
void watch_detach(struct control *control);

/* Sets the session's range: "NAME", or "NAME\x1fDOMAIN". */
void watch_capture(struct segment *segment, const char *text);

#endif
