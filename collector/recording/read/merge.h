/* SPDX-License-Identifier: MIT */
/* The events of all threads in order of time, and the samples: a merge, not a sort.
 *
 * Batches come thread by thread, as they were collected, nearly all in order. They wait here until
 * no earlier event can come (event_batch.settled_ns), or too many wait: then the earliest goes on,
 * and later arrivals before it are counted as late. Gaps and stretches off the CPU are ordered by
 * their end (event_order_ns). Equal times keep their order of arrival. Memory: at most about 150
 * MiB. Thread-safety: one thread per object. */
#ifndef ANNOT_MERGE_H
#define ANNOT_MERGE_H

#include "event.h"
#include "pass.h"
#include "sample.h"

#include <stdbool.h>
#include <stdint.h>

struct merge;
struct sample_merge;

enum { MERGE_EVENTS_MAX = 1 << 20, MERGE_SAMPLES_MAX = 1 << 16 }; /* maximum waiting */

struct merge_source {
    int (*next)(void *context, struct event_batch *ret_batch);
    void *context;
    bool live; /* more may come after next returned 0; only merge_settle releases items */
};

/* NULL: out of memory. destroy accepts NULL. */
struct merge *merge_create(const struct merge_source *source);
void merge_destroy(struct merge *merge);

/* The next event with its key-values, as a batch valid until the next merge_next: 1; 0 at the end,
 * or, of a live source, if no event is settled; -errno. Its settled_ns is the event's time in the
 * order. `peek` does not take it. */
int merge_peek(struct merge *merge, int64_t *ret_told_ns);
int merge_next(struct merge *merge, struct event_batch *ret_batch);

/* Live sources: after the next 0 that the source returns, no item before this will come. INT64_MAX:
 * the source has ended. */
void merge_settle(struct merge *merge, int64_t settled_ns);

/* Events that arrived after later ones had gone on. */
uint64_t merge_late_count(const struct merge *merge);

struct sample_merge_source {
    int (*next)(void *context, struct sample_batch *ret_batch);
    void *context;
    bool live;
};

/* The same for samples. */
struct sample_merge *sample_merge_create(const struct sample_merge_source *source);
void sample_merge_destroy(struct sample_merge *merge);
int sample_merge_peek(struct sample_merge *merge, int64_t *ret_told_ns);
int sample_merge_next(struct sample_merge *merge, struct sample *ret_sample);
void sample_merge_settle(struct sample_merge *merge, int64_t settled_ns);
uint64_t sample_merge_late_count(const struct sample_merge *merge);

#endif
