/* SPDX-License-Identifier: MIT */
/* Recordings for the tests of the store: repeatable random traces and events, and comparison.
 * Thread-safety: none. */
#ifndef ANNOT_TEST_STORE_SAMPLE_H
#define ANNOT_TEST_STORE_SAMPLE_H

#include "event.h"
#include "trace.h"

/* xorshift64*: the same numbers everywhere. */
uint64_t sample_random(uint64_t *state);

/* `processes` with `threads` each, and `strings` names. */
struct trace *sample_trace(unsigned processes, unsigned threads, unsigned strings);

/* Fills `events` with any kinds and any values, as the format stores them: fields that a kind does
 * not have are 0. Times of the thread go on from *time_ns. */
void sample_events(struct event *events, uint32_t count, uint32_t thread, uint32_t strings,
                   int64_t *time_ns, uint64_t *random);

/* Fails the test at the first difference. */
void sample_check_event(const struct event *actual, const struct event *expected);
void sample_check_trace(const struct trace *actual, const struct trace *expected);

#endif
