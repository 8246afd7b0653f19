/* SPDX-License-Identifier: MIT */
/* Internals of own times: sums, and the threads that count. */
#ifndef ANNOT_OWN_PARTS_H
#define ANNOT_OWN_PARTS_H

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

/* ---- Start of programs (own_begin.c) --------------------------------------------------------
 *
 * Start-up is the code that runs before the main module begins. The same functions are called
 * later, too, and then work for their callers. */

/* Fills in `labels`, by label. Returns an array by stack, true if the innermost frame is start-up;
 * the caller frees it. NULL: out of memory. */
bool *own_begin_stacks(const struct trace *trace, struct own_label *labels);

/* Returns an array by stack, true if all its samples are from processes of the command's start
 * (launch.h); the caller frees it. NULL: out of memory (own_launch.c). */
bool *own_launch_stacks(const struct own_sums *sums);

/* Returns true if a Python function is on the stack. */
bool own_begin_has_python(const struct stacks *stacks, uint32_t stack);

#endif
