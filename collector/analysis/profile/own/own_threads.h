/* SPDX-License-Identifier: MIT */
/* Threads that count in own times, according to their sums. Thread-safety: pure functions. */
#ifndef ANNOT_OWN_THREADS_H
#define ANNOT_OWN_THREADS_H

#include "own_time.h"

#include <stddef.h>

/* Stands for the reason in samples of CPU time. */
enum { OWN_ON_CPU = 15 };

/* The time of one thread at one stack. */
struct own_sum {
    uint32_t stack, thread; /* may be unknown to the trace */
    uint8_t reason;         /* enum wait_reason, or OWN_ON_CPU */
    uint64_t count, time_ns, ready_ns, max_ns, unfinished;
    uint64_t gil_ns; /* part of CPU time holding the GIL */
};

struct own_sums {
    const struct trace *trace;
    const struct own_label *labels;
    const struct own_sum *items;
    size_t count;
};

enum own_thread_flags {
    OWN_THREAD_WORKS = 1u << 0, /* its waits count */
    OWN_THREAD_BUSY = 1u << 1,  /* it has a twentieth of the busiest one's CPU time */
};

/* enum own_thread_flags by thread, to be freed; NULL: out of memory. */
uint8_t *own_threads_find(const struct own_sums *sums, uint32_t *ret_busy_count);

#endif
