/* SPDX-License-Identifier: MIT */
/* Time that a busy machine takes from a test, on the clocks of the same run: the only tolerance of
 * tests that measure time. Threads: any. */
#ifndef ANNOT_MACHINE_TIME_H
#define ANNOT_MACHINE_TIME_H

#include <stdint.h>

/* Irq, softirq and steal time of all CPUs so far, in ns: it passes on timers but on no thread's
 * clock. In whole ticks, and up to one late; 0 without /proc/stat. */
int64_t machine_taken_ns(void);

/* Time for which the calling thread was runnable but other threads had its CPU; 0 without
 * schedstat. */
int64_t machine_run_delay_ns(void);

/* Times of a thread, summed over pairs of begin and end; {0} at first. */
struct thread_stretch {
    int64_t wall_ns, cpu_ns, delay_ns;
};

void thread_stretch_begin(struct thread_stretch *stretch);
void thread_stretch_end(struct thread_stretch *stretch);

#endif
