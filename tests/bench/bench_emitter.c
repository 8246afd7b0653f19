/* SPDX-License-Identifier: MIT */
/* The program that bench_collector watches: bench_emitter RECORDS_PER_SECOND SECONDS. */
#include <annot/annot.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 64 };

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Pairs of push and pop, four names, at the rate that was asked for. */
static int produce(double rate, double duration)
{
    double begin = seconds(CLOCK_MONOTONIC), now = begin;
    uint64_t records = 0;
    while (now - begin < duration) {
        if (rate == 0) {
            annot_mark("idle");
            usleep(500000);
        }
        while (rate > 0 && (double)records < (now - begin) * rate) {
            for (int i = 0; i < BURST; i++) {
                ANNOT_PUSH("outer");
                ANNOT_PUSH("inner");
                ANNOT_POP();
                ANNOT_POP();
            }
            records += 4 * BURST;
        }
        now = seconds(CLOCK_MONOTONIC);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 3 ? produce(atof(argv[1]), atof(argv[2])) : 2;
}
