/* SPDX-License-Identifier: MIT */
/* A program to be sampled: computes for so many milliseconds of CPU time, ten calls deep.
 *
 *     unwind_target MS */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static __attribute__((noinline)) void target_spin(void)
{
    for (uint64_t i = 0; i < 200000; i++)
        sink = sink * 31 + i;
}

static __attribute__((noinline)) uint64_t target_down(unsigned depth)
{
    volatile uint64_t room[9] = {depth};
    if (depth > 0)
        return target_down(depth - 1) + room[depth % 9];
    target_spin();
    return room[0];
}

int main(int argc, char **argv)
{
    int64_t end = cpu_ns() + strtoll(argc > 1 ? argv[1] : "100", NULL, 10) * 1000000;
    while (cpu_ns() < end)
        sink += target_down(10);
    return 0;
}
