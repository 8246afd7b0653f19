/* SPDX-License-Identifier: MIT */
/* A program that never has the same stack twice: each descent takes one of two ways at each of
 * 400 steps.
 *
 *     target_stacks MS    for so much CPU time */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 400 };

static volatile uint64_t sink_word;
static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void step(unsigned depth);

static __attribute__((noinline)) void left(unsigned depth)
{
    step(depth + 1);
    sink_word++;
}

static __attribute__((noinline)) void right(unsigned depth)
{
    step(depth + 1);
    sink_word += 2;
}

static __attribute__((noinline)) void step(unsigned depth)
{
    if (depth >= DEPTH) {
        for (int i = 0; i < 200000; i++)
            sink_word = sink_word * 31 + (uint64_t)i;
    } else if (next_random() >> 63) {
        left(depth + 1);
    } else {
        right(depth + 1);
    }
    sink_word++;
}

int main(int argc, char **argv)
{
    int64_t end = argc > 1 ? cpu_ms() + strtoll(argv[1], NULL, 10) : 0;
    while (cpu_ms() < end)
        step(0);
    return 0;
}
