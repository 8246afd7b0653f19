/* SPDX-License-Identifier: MIT */
/* Threads that count in own times. Thread-safety: pure functions. */
#ifndef ANNOT_OWN_THREADS_H
#define ANNOT_OWN_THREADS_H

#include "own_parts.h"

enum own_thread_flags {
    OWN_THREAD_WORKS = 1u << 0, /* its waits count */
    OWN_THREAD_BUSY = 1u << 1,  /* it has a twentieth of the busiest one's CPU time */
};

/* enum own_thread_flags by thread, to be freed; NULL: out of memory. */
uint8_t *own_threads_find(const struct own_sums *sums, uint32_t *ret_busy_count);

#endif
