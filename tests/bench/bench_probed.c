/* SPDX-License-Identifier: MIT */
/* Calls a function that probes are put at: prints the nanoseconds of a call, of each of five
 * rounds.
 *
 *     bench_probed [CALLS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, CALLS = 20000 };

static volatile int sink;

/* As compilers make most functions: it saves a register, and ends with a plain return. */
__attribute__((noinline, noclone)) static int bench_probed(int x)
{
    int saved = sink + x;
    __asm__ volatile("" : "+b"(saved));
    return saved * 2;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : CALLS;
    for (int round = 0; round < ROUNDS && calls > 0; round++) {
        int64_t begin_ns = now_ns();
        for (int i = 0; i < calls; i++)
            sink = bench_probed(i);
        printf("%.1f\n", (double)(now_ns() - begin_ns) / calls);
    }
    return 0;
}
