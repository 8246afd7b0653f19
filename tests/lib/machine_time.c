/* SPDX-License-Identifier: MIT */
/* Times of /proc/stat and schedstat. */
#include "machine_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t machine_taken_ns(void)
{
    int64_t irq = 0, softirq = 0, steal = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return 0;
    if (fscanf(file, "cpu %*d %*d %*d %*d %*d %" SCNd64 " %" SCNd64 " %" SCNd64, &irq, &softirq,
               &steal) != 3)
        irq = softirq = steal = 0;
    fclose(file);
    return (irq + softirq + steal) * (1000000000 / sysconf(_SC_CLK_TCK));
}

int64_t machine_run_delay_ns(void)
{
    int64_t delay = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*d %" SCNd64, &delay) != 1)
        delay = 0;
    fclose(file);
    return delay;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void thread_stretch_begin(struct thread_stretch *stretch)
{
    stretch->delay_ns -= machine_run_delay_ns();
    stretch->cpu_ns -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
    stretch->wall_ns -= clock_ns(CLOCK_MONOTONIC);
}

void thread_stretch_end(struct thread_stretch *stretch)
{
    stretch->wall_ns += clock_ns(CLOCK_MONOTONIC);
    stretch->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
    stretch->delay_ns += machine_run_delay_ns();
}
