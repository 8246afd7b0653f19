/* SPDX-License-Identifier: MIT */
/* For programs with checked samples: CPU time spent on purpose and measured by the thread's own
 * clock. Thread-safety: each thread measures itself. */
#ifndef ANNOT_TEST_SPIN_H
#define ANNOT_TEST_SPIN_H

#include <stdint.h>
#include <time.h>

static inline int64_t spin_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static inline int64_t spin_cpu_ns(void)
{
    return spin_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Uses up the thread's time; the clock is read rarely, so that the samples lie in the caller. */
static inline __attribute__((always_inline)) int64_t spin_inline(int64_t ns)
{
    volatile uint64_t sink = 1;
    int64_t begin = spin_cpu_ns(), now;
    do {
        for (int i = 0; i < 20000; i++)
            sink = sink * 3 + 1;
        now = spin_cpu_ns();
    } while (now - begin < ns);
    return now - begin;
}

#endif
