/* SPDX-License-Identifier: MIT */
/* The yardstick of events: the floor, two time stamps and two 16-byte stores for a pair, and the
 * timing of a slice of pairs. Needs only libc, because programs that link as users do include it.
 * One copy in each program, one thread. */
#ifndef ANNOT_BENCH_FLOOR_H
#define ANNOT_BENCH_FLOOR_H

#include <stdint.h>
#include <time.h>

static __attribute__((aligned(64))) uint64_t floor_ring[4096];
static uint32_t floor_at;

static __attribute__((noinline)) void floor_store(uint64_t head)
{
    uint64_t *at = &floor_ring[floor_at];
    at[0] = __builtin_ia32_rdtsc();
    at[1] = head;
    floor_at = (floor_at + 2) & 4095;
}

static void run_floor(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        floor_store(1);
        floor_store(2);
    }
}

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Nanoseconds of one of `count`. */
static inline double slice_ns(void (*run)(int count), int count)
{
    uint64_t before = now_ns();
    run(count);
    return (double)(now_ns() - before) / count;
}

/* For qsort. */
static inline int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

#endif
