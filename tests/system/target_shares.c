/* SPDX-License-Identifier: MIT */
/* Functions with known shares of the CPU time, each inside its own range, on two threads.
 *
 * target_shares MS: prints one line per function and thread: name, CPU nanoseconds by the thread's
 * clock. Rounds are short, so ranges last from 2 ms on. */
#include "spin.h"

#include "annot/annot.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 4, ROUNDS = 10 };

struct tally {
    int64_t function_ns[FUNCTIONS], round_ns;
};

static int64_t total_ms;

#define FUNCTION(name, part)                                                                       \
    static __attribute__((noinline)) int64_t name(int64_t unit)                                    \
    {                                                                                              \
        ANNOT_RANGE("range " #name);                                                               \
        int64_t spent = spin_inline((part)*unit);                                                  \
        return spent;                                                                              \
    }

FUNCTION(burn_one, 1)
FUNCTION(burn_two, 2)
FUNCTION(burn_three, 3)
FUNCTION(burn_four, 4)

static void *run(void *argument)
{
    struct tally *tally = argument;
    int64_t unit = total_ms * 1000000 / ROUNDS / 10;
    for (int i = 0; i < ROUNDS; i++) {
        ANNOT_RANGE("round");
        tally->function_ns[0] += burn_one(unit);
        tally->function_ns[1] += burn_two(unit);
        tally->function_ns[2] += burn_three(unit);
        tally->function_ns[3] += burn_four(unit);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[FUNCTIONS] = {"burn_one", "burn_two", "burn_three", "burn_four"};
    struct tally tallies[2] = {{{0}, 0}, {{0}, 0}};
    pthread_t thread;
    total_ms = argc > 1 ? atoi(argv[1]) : 1000;
    if (pthread_create(&thread, NULL, run, &tallies[1]) != 0)
        return 1;
    run(&tallies[0]);
    pthread_join(thread, NULL);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < FUNCTIONS; i++)
            printf("%s %" PRId64 "\n", names[i], tallies[t].function_ns[i]);
    return 0;
}
