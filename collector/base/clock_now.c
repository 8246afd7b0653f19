/* SPDX-License-Identifier: MIT */
/* clock_gettime as one number, without the offset of a time namespace. Thread-safety: yes. */
#include "clock_now.h"

#include "file_io.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define TICK_NS   UINT64_C(10000000)

/* ---- Time namespaces ---- */

static int64_t monotonic_ahead_ns, boot_ahead_ns; /* W: once */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* True if the offsets in /proc, which are those of the children, apply to this process. */
static bool shares_with_children(void)
{
    struct stat own, children;
    return stat("/proc/self/ns/time", &own) == 0 &&
           stat("/proc/self/ns/time_for_children", &children) == 0 && own.st_ino == children.st_ino;
}

static void read_ahead(void)
{
    char text[256];
    int64_t monotonic[2], boot[2];
    if (file_read_text("/proc/self/timens_offsets", text, sizeof(text)) <= 0 ||
        sscanf(text, "monotonic %" SCNd64 " %" SCNd64 " boottime %" SCNd64 " %" SCNd64,
               &monotonic[0], &monotonic[1], &boot[0], &boot[1]) != 4 ||
        !shares_with_children())
        return;
    monotonic_ahead_ns = monotonic[0] * SECOND_NS + monotonic[1];
    boot_ahead_ns = boot[0] * SECOND_NS + boot[1];
}

int64_t clock_machine_ns(int64_t own_ns)
{
    pthread_once(&once, read_ahead);
    return own_ns - monotonic_ahead_ns;
}

struct timespec clock_own_time(int64_t machine_ns)
{
    pthread_once(&once, read_ahead);
    int64_t ns = machine_ns + monotonic_ahead_ns;
    return (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
}

/* The kernel's sum is unsigned: it is huge for processes older than the clock of the namespace. */
uint64_t clock_machine_ticks(uint64_t own_ticks)
{
    pthread_once(&once, read_ahead);
    return own_ticks && boot_ahead_ns ? (own_ticks * TICK_NS - (uint64_t)boot_ahead_ns) / TICK_NS
                                      : own_ticks;
}

bool clock_same_ticks(uint64_t a, uint64_t b)
{
    return a - b + 1 <= 2;
}

/* ---- Clocks ---- */

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return clock_machine_ns(read_clock(CLOCK_MONOTONIC));
}

int64_t clock_real_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_boot_ns(void)
{
    pthread_once(&once, read_ahead);
    return read_clock(CLOCK_BOOTTIME) - boot_ahead_ns;
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
