/* SPDX-License-Identifier: MIT */
/* From events to finished things: pairs pushes with pops and starts with ends.
 *
 * Feeds batches in recording order and calls back for each completed range, mark, counter value
 * and gap. Used by exporters and profiles, so that all outputs agree on every duration.
 * Memory: the open ranges only. Thread-safety: none. */
#ifndef ANNOT_MODEL_SLICES_H
#define ANNOT_MODEL_SLICES_H

#include "event.h"
#include "trace.h"

enum slice_flags {
    SLICE_UNFINISHED = 1u << 0, /* no end: open at the thread's, process's or recording's end, or
                                   at an off/on edge; end_ns is that time                      */
    SLICE_END_LOST = 1u << 1,   /* the end fell into a gap; end_ns is the end of the gap       */
};

/* A finished range. `begin` has name, attributes and payload. */
struct slice {
    const struct event *begin;
    int64_t end_ns;
    uint32_t flags;      /* enum slice_flags */
    uint32_t end_thread; /* overlapping ranges: where annot_end was called */
    /* Pushed ranges: ranges around it, outermost first, without itself; depth many. Valid during
     * the callback. */
    const struct event *const *parents;
    uint32_t depth;
    int64_t child_ns; /* pushed ranges: time in direct children */
};

/* Each may be NULL. A nonzero result stops and is returned by the feeding call. Pushed ranges come
 * when they end, so children before parents; within a thread ordered by end. */
struct slice_sink {
    /* A pushed range began, inside `depth` others: for formats that want begins and ends apart. */
    int (*opened)(void *context, const struct event *begin, uint32_t depth);
    int (*pushed)(void *context, const struct slice *slice);
    int (*started)(void *context, const struct slice *slice);
    int (*mark)(void *context, const struct event *event);
    int (*counter)(void *context, const struct event *event);
    int (*lost)(void *context, const struct event *event);
    void *context;
};

struct slices;

/* `trace` outlives the object. NULL: out of memory. */
struct slices *slices_create(const struct trace *trace, const struct slice_sink *sink);
int slices_feed(struct slices *slices, const struct event_batch *batch);

/* Ends what is open: at the thread's process's end if known, else at the recording's. */
int slices_finish(struct slices *slices);
void slices_destroy(struct slices *slices);

/* Ends without a start (lost, or before the recording): ignored and counted. */
uint64_t slices_orphan_count(const struct slices *slices);

#endif
