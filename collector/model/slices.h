/* SPDX-License-Identifier: MIT */
/* From events to finished things: pairs pushes with pops, starts with ends, and begins of tracks
 * with their ends.
 *
 * Feeds batches in recording order and calls back for each completed range, mark, counter value,
 * point of a flow and gap. Used by exporters and profiles, so that all outputs agree on every
 * duration. Memory: the open ranges, and a bounded number of events of tracks: those of one track
 * come from any threads, so they wait to be put in order of time. Thread-safety: none. */
#ifndef ANNOT_MODEL_SLICES_H
#define ANNOT_MODEL_SLICES_H

#include "event.h"
#include "trace.h"

/* So many events of tracks wait at least, and at most: between, until it is known from the batches
 * that nothing earlier can come (event_batch.settled_ns). */
enum { SLICES_WAITING_MIN = 1 << 17, SLICES_WAITING_MAX = 1 << 19 };

enum slice_flags {
    SLICE_UNFINISHED = 1u << 0, /* no end: open at the thread's, process's or recording's end, or
                                   at an off/on edge; end_ns is that time                      */
    SLICE_END_LOST = 1u << 1,   /* the end fell into a gap; end_ns is the end of the gap       */
};

/* A key-value of an event. */
struct slice_value {
    uint32_t key;  /* string */
    uint32_t kind; /* enum value_kind */
    union value value;
};

/* All of an event, in its order; without the single payload of the event itself. Valid during the
 * callback. */
struct slice_values {
    const struct slice_value *items;
    uint32_t count;
};

/* A finished range. `begin` has name, attributes and payload. */
struct slice {
    const struct event *begin;
    struct slice_values values; /* of `begin`, then those of the end */
    uint32_t end_value_count;   /* so many of the last are of the end */
    int64_t end_ns;
    uint32_t flags;      /* enum slice_flags */
    uint32_t end_thread; /* overlapping ranges and tracks: where it was ended */
    /* Pushed ranges, ranges of tracks: those around it, outermost first, without itself; depth
     * many. Valid during the callback. */
    const struct event *const *parents;
    uint32_t depth;
    int64_t child_ns; /* time in direct children */
};

/* What was known at the end of a range only. */
static inline struct slice_values slice_end_values(const struct slice *slice)
{
    struct slice_values values = {NULL, slice->end_value_count};
    if (values.count)
        values.items = slice->values.items + (slice->values.count - values.count);
    return values;
}

/* Each may be NULL. A nonzero result stops and is returned by the feeding call. Pushed ranges come
 * when they end, so children before parents; within a thread ordered by end. */
struct slice_sink {
    /* A pushed range began, inside `depth` others: for formats that want begins and ends apart. */
    int (*opened)(void *context, const struct event *begin, const struct slice_values *values,
                  uint32_t depth);
    int (*pushed)(void *context, const struct slice *slice);
    int (*started)(void *context, const struct slice *slice);
    int (*mark)(void *context, const struct event *event, const struct slice_values *values);
    int (*counter)(void *context, const struct event *event);
    int (*lost)(void *context, const struct event *event);
    int (*flow)(void *context, const struct event *event); /* EVENT_FLOW_..., not yet paired */

    /* Of tracks, all of them together in order of time, without hidden ranges: a range began inside
     * `depth` others of its track, a range ended, a mark inside `depth` ranges. The track is `id`
     * of the event, which the trace may not define. */
    int (*track_opened)(void *context, const struct event *begin, const struct slice_values *values,
                        uint32_t depth);
    int (*track_closed)(void *context, const struct slice *slice);
    int (*track_mark)(void *context, const struct event *event, const struct slice_values *values,
                      uint32_t depth);
    void *context;
};

struct slices;

/* `trace` outlives the object. NULL: out of memory. */
struct slices *slices_create(const struct trace *trace, const struct slice_sink *sink);

/* Before the first batch: batches of all threads together come in order of time (event_order.h).
 * Then callbacks come in the feeding of the event that they are for, those of tracks too. */
void slices_in_order(struct slices *slices);
int slices_feed(struct slices *slices, const struct event_batch *batch);

/* The thread's process has ended, and all its events have come: ends its pushed ranges. */
int slices_finish_thread(struct slices *slices, uint32_t thread);

/* Ends what is open: at the thread's process's end if known, else at the recording's. */
int slices_finish(struct slices *slices);
void slices_destroy(struct slices *slices);

/* Ends without a start (lost, or before the recording): ignored and counted. */
uint64_t slices_orphan_count(const struct slices *slices);

#endif
