/* SPDX-License-Identifier: MIT */
/* The cost of -finstrument-functions during a recording: `annot record -- bench-functions`.
 *
 * Pairs of calls against plain pairs of annot_push_name and annot_pop, both in bursts of a quarter
 * of the buffer, the least of many, in one run; at the surface and 100 calls deep. Without a
 * recording: the cost of a call then, the empty call subtracted. One thread. */
#include <annot/annot.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define UNTRACED __attribute__((noinline, no_instrument_function))

enum { BURST = 50000, BURSTS = 60, PAUSE_NS = 20000000 };

static annot_name name;

__attribute__((noinline)) static void traced(void)
{
    __asm__ volatile("");
}

UNTRACED static void untraced(void)
{
    __asm__ volatile("");
}

UNTRACED static void calls(void)
{
    for (int i = 0; i < BURST; i++)
        traced();
}

UNTRACED static void no_calls(void)
{
    for (int i = 0; i < BURST; i++)
        untraced();
}

UNTRACED static void pairs(void)
{
    for (int i = 0; i < BURST; i++) {
        annot_push_name(name);
        annot_pop();
    }
}

UNTRACED static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nanoseconds a turn, the least of some bursts. */
UNTRACED static double measure(void (*burst)(void))
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    double least = 1e9;
    for (int i = 0; i < BURSTS; i++) {
        nanosleep(&pause, NULL);
        double begin = seconds();
        burst();
        double took = seconds() - begin;
        least = took < least ? took : least;
    }
    return least * 1e9 / BURST;
}

UNTRACED static void print_row(const char *label)
{
    double empty = measure(no_calls), pair = measure(pairs), call = measure(calls);
    printf("%-28s pair %6.2f ns  call %6.2f ns  ratio %.2f\n", label, pair, call - empty,
           (call - empty) / pair);
}

/* Each level is a separate call. */
static void deep(int depth)
{
    if (depth > 0)
        deep(depth - 1);
    else
        print_row("100 calls deep");
    __asm__ volatile("");
}

UNTRACED int main(void)
{
    name = annot_name_intern("pair");
    print_row(annot_enabled() ? "recording" : "nobody records");
    if (annot_enabled())
        deep(100);
    return 0;
}
