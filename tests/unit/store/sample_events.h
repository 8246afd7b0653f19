/* SPDX-License-Identifier: MIT */
/* Recordings for the tests of the store: repeatable random traces and events, and comparison.
 * Thread-safety: none. */
#ifndef ANNOT_TEST_STORE_SAMPLE_H
#define ANNOT_TEST_STORE_SAMPLE_H

#include "event.h"
#include "trace.h"

enum { SAMPLE_THREADS_MAX = 16 };

/* xorshift64*: the same numbers on all machines. */
uint64_t sample_random(uint64_t *state);

/* `processes` with `threads` each, and `strings` names. */
struct trace *sample_trace(unsigned processes, unsigned threads, unsigned strings);

/* Source of random events. Times of each thread continue from batch to batch. */
struct sample_source {
    uint32_t strings;
    uint64_t random; /* not 0 */
    int64_t times[SAMPLE_THREADS_MAX];
};

/* Fills `events` with any kinds and values in stored form: fields unused by a kind are 0. */
void sample_events(struct sample_source *source, uint32_t thread, struct event *events,
                   uint32_t count);

/* Key-values of the events, for all batches. */
extern const struct arg sample_args[];

/* Fails the test at the first difference. */
void sample_check_event(const struct event_batch *actual, uint32_t index,
                        const struct event *expected);
void sample_check_trace(const struct trace *actual, const struct trace *expected);

#endif
