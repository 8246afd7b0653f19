/* SPDX-License-Identifier: MIT */
/* Puts spans that an observer reports of a thread among the thread's own events, in order of time.
 * The first step of a pass. Memory: at most about 100 MiB. Thread-safety: one thread per object. */
#ifndef ANNOT_OWN_SPANS_H
#define ANNOT_OWN_SPANS_H

#include "event.h"

#include <stdbool.h>
#include <stdint.h>

struct own_spans;
struct trace;

struct own_source {
    int (*next)(void *context, struct event_batch *ret_batch);
    void *context;
    const struct trace *trace; /* has the threads of all batches */
    bool live;
};

/* NULL: out of memory. destroy accepts NULL. */
struct own_spans *own_spans_create(const struct own_source *source);
void own_spans_destroy(struct own_spans *own);

/* Takes a batch that was already read: 0 or -ENOMEM. */
int own_spans_take(struct own_spans *own, const struct event_batch *batch);

/* As pass_source.next_events, and merge_settle. */
int own_spans_next(struct own_spans *own, struct event_batch *ret_batch);
void own_spans_settle(struct own_spans *own, int64_t settled_ns);

/* Spans that came too late for their place. */
uint64_t own_spans_late_count(const struct own_spans *own);

#endif
