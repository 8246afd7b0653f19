/* SPDX-License-Identifier: MIT */
/* A part of a recording that is a recording of its own: some threads, a stretch of time, what
 * happened inside ranges of a name.
 *
 * Takes events in order of time (event_order.h) and hands out those that are wanted, so that begins
 * and ends fit: a range that is open at the first instant begins there, one that is open at the
 * last ends there. What comes before the first instant is read for that; behind the last nothing is
 * read. Inside a range is what its thread does while it is open; overlapping ranges and ranges on
 * tracks of that name are themselves wanted, and what happens on a track inside of them. All
 * outputs read through here, so their sums agree. Thread-safety: one thread per object. */
#ifndef ANNOT_EVENT_SELECT_H
#define ANNOT_EVENT_SELECT_H

#include "event_order.h"
#include "trace.h"

struct event_selection {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to); INT64_MIN, INT64_MAX: no limit */
    const char *range;      /* name or pattern (text_matches); NULL: whatever range, or none */
    bool (*wants)(void *context, uint32_t thread); /* NULL: all threads */
    void *context;
};

struct event_select;

/* `trace`, what the source is of, and the texts outlive the object. NULL: out of memory. destroy
 * accepts NULL.
 */
struct event_select *event_select_create(const struct trace *trace,
                                         const struct event_selection *selection,
                                         const struct event_stream *source);
void event_select_destroy(struct event_select *select);

/* The next event with its key-values, in order of time: 1; 0 at the end, of a live source: nothing
 * for now; -errno. The caller may change the events. */
int event_select_next(struct event_select *select, struct event **ret_events, uint32_t *ret_count);

/* No more will come: ends what is open and would last longer than the selection. Then take the rest
 * with event_select_next. A source that is not live needs no call. 0 or -ENOMEM. */
int event_select_finish(struct event_select *select);

/* Is the thread wanted? Is the instant? */
bool event_selection_wants(const struct event_selection *selection, uint32_t thread);
bool event_selection_holds(const struct event_selection *selection, int64_t time_ns);

/* Does it take all? */
bool event_selection_is_all(const struct event_selection *selection);

#endif
