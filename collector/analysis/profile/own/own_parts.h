/* SPDX-License-Identifier: MIT */
/* Inside of own times: sums, and which threads count. */
#ifndef ANNOT_OWN_PARTS_H
#define ANNOT_OWN_PARTS_H

#include "own_time.h"

#include <stddef.h>

/* In place of a reason: the sample is one of CPU time. */
enum { OWN_ON_CPU = 15 };

/* What one thread did at one stack. */
struct own_sum {
    uint32_t stack, thread; /* which the trace may not know */
    uint8_t reason;         /* enum wait_reason, or OWN_ON_CPU */
    uint64_t count, time_ns, ready_ns, max_ns, unfinished;
    uint64_t gil_ns; /* of CPU time: holding the GIL */
};

enum own_thread_flags {
    OWN_THREAD_WORKS = 1u << 0, /* its waits count */
    OWN_THREAD_BUSY = 1u << 1,  /* it has a twentieth of the busiest one's CPU time */
};

struct own_sums {
    const struct trace *trace;
    const struct own_label *labels;
    const struct own_sum *items;
    size_t count;
};

/* enum own_thread_flags by thread, to be freed; NULL: out of memory (own_threads.c). */
uint8_t *own_threads_find(const struct own_sums *sums, uint32_t *ret_busy_count);

#endif
