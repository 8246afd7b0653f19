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

/* ---- Where programs begin (own_begin.c) --------------------------------------------------------
 *
 * Start-up is what runs before the main module begins. The same functions are called later, too,
 * and then work for their callers. */

/* Fills in `labels`, by label. Returns by stack whether its innermost frame is start-up; the caller
 * frees it. NULL: out of memory. */
bool *own_begin_stacks(const struct trace *trace, struct own_label *labels);

/* Returns by stack whether only processes of the command's start (launch.h) were sampled there; the
 * caller frees it. NULL: out of memory (own_launch.c). */
bool *own_launch_stacks(const struct own_sums *sums);

/* Whether a Python function is on the stack. */
bool own_begin_has_python(const struct stacks *stacks, uint32_t stack);

#endif
