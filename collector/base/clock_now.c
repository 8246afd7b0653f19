/* SPDX-License-Identifier: MIT */
/* clock_gettime as one number. Thread-safety: yes. */
#include "clock_now.h"

#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_real_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t clock_asleep_ns(void)
{
    int64_t boot = clock_boot_ns();
    return boot - clock_now_ns();
}

int64_t clock_ticks_ns(uint64_t ticks, int64_t asleep_ns)
{
    long per_second = sysconf(_SC_CLK_TCK);
    if (ticks == 0 || per_second <= 0 || ticks > INT64_MAX / 1000000000)
        return 0;
    int64_t ns = (int64_t)(ticks * (UINT64_C(1000000000) / (uint64_t)per_second)) - asleep_ns;
    return ns > 0 ? ns : 0;
}
