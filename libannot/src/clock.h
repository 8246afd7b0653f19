/* SPDX-License-Identifier: MIT */
/* The timestamp of records: the cheapest counter that the kernel itself trusts.
 *
 * Threads: any. clock_kind is set before the first segment is made and never changes afterwards.
 * Units: ticks of the kind; the collector converts them to nanoseconds of the machine's
 * CLOCK_MONOTONIC; the program's own may differ: proc_ahead_ns. */
#ifndef ANNOT_CLOCK_H
#define ANNOT_CLOCK_H

#include "proc.h"

#include <annot_barrier.h>
#include <annot_wire.h>
#include <stdint.h>
#include <time.h>

extern uint8_t clock_kind __attribute__((visibility("hidden"))); /* enum annot_clock */

/* Chooses the kind from the kernel's clock source, and reads proc_ahead_ns. Async-signal-safe. */
void clock_select(void);

/* The program's own CLOCK_MONOTONIC. */
static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Converts a time of it to the machine's. */
static inline uint64_t clock_machine_ns(uint64_t monotonic_ns)
{
    return monotonic_ns - (uint64_t)annot_load_relaxed(&proc_ahead_ns);
}

/* True if a timestamp takes one instruction. */
static inline int clock_is_quick(void)
{
#if defined(__x86_64__)
    return __builtin_expect(clock_kind == ANNOT_CLOCK_TSC, 1) != 0;
#elif defined(__aarch64__)
    return __builtin_expect(clock_kind == ANNOT_CLOCK_CNTVCT, 1);
#else
    return 0;
#endif
}

/* Only if clock_is_quick(). */
static inline uint64_t clock_quick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc(); /* x86intrin.h would add 40,000 lines */
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t clock_now(void)
{
    return clock_is_quick() ? clock_quick() : clock_machine_ns(clock_monotonic_ns());
}

/* One instant in both clocks, the machine's; the timestamp lies in the middle of the reading of the
 * other clock. */
void clock_both(uint64_t *ret_time, uint64_t *ret_ns);

#endif
