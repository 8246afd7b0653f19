/* SPDX-License-Identifier: MIT */
/* The kernel's clocks in nanoseconds. Thread-safety: yes. */
#ifndef ANNOT_CLOCK_NOW_H
#define ANNOT_CLOCK_NOW_H

#include <stdint.h>

/* CLOCK_MONOTONIC: the time of everything in a recording. */
int64_t clock_now_ns(void);

/* CLOCK_REALTIME. */
int64_t clock_real_ns(void);

/* CLOCK_BOOTTIME: goes on while the machine sleeps. */
int64_t clock_boot_ns(void);

/* What CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. */
int64_t clock_asleep_ns(void);

/* CLOCK_MONOTONIC of a time in ticks since boot, as field 22 of /proc/PID/stat has it: in
 * hundredths of a second. 0 = unknown. */
int64_t clock_ticks_ns(uint64_t ticks, int64_t asleep_ns);

#endif
