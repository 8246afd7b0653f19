/* SPDX-License-Identifier: MIT */
/* The kernel's clocks in nanoseconds. Thread-safety: yes. */
#ifndef ANNOT_CLOCK_NOW_H
#define ANNOT_CLOCK_NOW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC of the machine: the time of everything in a recording. The kernel's samples and
 * the events of programs use it in every time namespace. */
int64_t clock_now_ns(void);

/* CLOCK_REALTIME. */
int64_t clock_real_ns(void);

/* CLOCK_BOOTTIME of the machine: goes on while it sleeps. */
int64_t clock_boot_ns(void);

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
int64_t clock_asleep_ns(void);

/* CLOCK_MONOTONIC of a time in ticks since boot, as in field 22 of /proc/PID/stat: in hundredths of
 * a second. 0 = unknown. */
int64_t clock_ticks_ns(uint64_t ticks, int64_t asleep_ns);

/* ---- In a time namespace: its clocks and /proc are ahead of the machine's ---- */

/* Converts between CLOCK_MONOTONIC of this process's namespace and the machine's. */
int64_t clock_machine_ns(int64_t own_ns);
struct timespec clock_own_time(int64_t machine_ns);

/* Converts field 22 of /proc/PID/stat, read in this process, to ticks since the machine's boot: off
 * by at most one if the namespace's offset is not a whole number of ticks. clock_same_ticks allows
 * for that. */
uint64_t clock_machine_ticks(uint64_t own_ticks);
bool clock_same_ticks(uint64_t a, uint64_t b);

#endif
