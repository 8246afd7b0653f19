/* SPDX-License-Identifier: MIT */
/* The events of all threads together, in order of time.
 *
 * Batches come thread by thread, as they were collected. Events wait here until no earlier one can
 * come (event_batch.settled_ns), or too many wait: then the older half goes on, and what comes
 * later than it should is counted. Gaps are told when they end (event_told_ns). Events of equal
 * times stay in the order in which they came; key-values stay behind their event. Memory: at most
 * about 150 MiB. Thread-safety: one thread per object. */
#ifndef ANNOT_EVENT_ORDER_H
#define ANNOT_EVENT_ORDER_H

#include "event.h"

enum { EVENT_ORDER_MIN = 1 << 16, EVENT_ORDER_MAX = 1 << 20 }; /* that wait */

struct event_order_source {
    int (*next)(void *context, struct event_batch *ret_batch); /* as store_reader_next */
    void *context;
    /* More may come after next returned 0; only event_order_settle then tells what goes on. */
    bool live;
};

struct event_order;

/* NULL: out of memory. destroy accepts NULL. */
struct event_order *event_order_create(const struct event_order_source *source);
void event_order_destroy(struct event_order *order);

/* The next event and its key-values, as a batch that is the caller's to change until the next call:
 * 1; 0 at the end, of a live source: nothing that is settled; -errno. */
int event_order_next(struct event_order *order, struct event **ret_events, uint32_t *ret_count);

/* Live sources: nothing before this will come. INT64_MAX: nothing at all. */
void event_order_settle(struct event_order *order, int64_t settled_ns);

/* Where events in order of time come from: as event_order_next. */
struct event_stream {
    int (*next)(void *context, struct event **ret_events, uint32_t *ret_count);
    void *context;
    bool live;
};

struct event_stream event_order_stream(struct event_order *order);

/* Events that came behind later ones. */
uint64_t event_order_late_count(const struct event_order *order);

#endif
