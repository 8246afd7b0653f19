/* SPDX-License-Identifier: MIT */
/* What a busy machine takes from a test, in the clocks of the same run: tests of times allow for it
 * by these, and for nothing else. Threads: any. */
#ifndef ANNOT_MACHINE_TIME_H
#define ANNOT_MACHINE_TIME_H

#include <stdint.h>

/* Irq, softirq and steal of all CPUs so far, in ns: timers go on meanwhile, but no thread's clock
 * counts it. In whole ticks, and later by up to one; 0 without /proc/stat. */
int64_t machine_taken_ns(void);

/* For so long the calling thread could have run, but others had its CPU; 0 without schedstat. */
int64_t machine_run_delay_ns(void);

/* Of some time of a thread, summed over pairs of begin and end; {0} at first. */
struct thread_stretch {
    int64_t wall_ns, cpu_ns, delay_ns;
};

void thread_stretch_begin(struct thread_stretch *stretch);
void thread_stretch_end(struct thread_stretch *stretch);

#endif
