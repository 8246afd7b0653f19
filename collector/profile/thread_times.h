/* SPDX-License-Identifier: MIT */
/* When threads did not run: exact sums over any span of time of any thread, from the stretches off
 * the CPU.
 *
 * What is no stretch was running, so running + runnable + blocked is the span. Memory: 24 bytes a
 * stretch, at most 8 million. Thread-safety: one thread per object. */
#ifndef ANNOT_THREAD_TIMES_H
#define ANNOT_THREAD_TIMES_H

#include "sample.h"
#include "trace.h"

struct thread_times;

/* `trace` is complete. NULL: out of memory. destroy accepts NULL. */
struct thread_times *thread_times_create(const struct trace *trace);
void thread_times_destroy(struct thread_times *times);

/* Samples in any order (those on a CPU are ignored), then once finish, which cuts off what
 * overlaps. 0 or -ENOMEM. */
int thread_times_add(struct thread_times *times, const struct sample *sample);
void thread_times_finish(struct thread_times *times);

/* Of the span [begin_ns, end_ns). Cost: two binary searches. */
struct off_share thread_times_between(const struct thread_times *times, uint32_t thread,
                                      int64_t begin_ns, int64_t end_ns);

/* Stretches that were left out for want of room: their time counts as running. */
uint64_t thread_times_refused(const struct thread_times *times);

#endif
