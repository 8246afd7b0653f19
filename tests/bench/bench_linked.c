/* SPDX-License-Identifier: MIT */
/* The cost of an event to a program that is built as a user builds one: run.py links it with the
 * flags of annot.pc and annot-static.pc, as a plain executable and with its code in a shared
 * library, and runs it under `annot record`, whose collector drains it, and without.
 *
 * The slices alternate, as in bench_pair.c; between them the program sleeps, so that the collector
 * follows. Prints one JSON object: nanoseconds of the floor (two time stamps, two 16-byte stores)
 * and of pairs, or of one event without a recording. */
#define _GNU_SOURCE
#include "bench_floor.h"
#include "bench_pairs.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLICES = 2000, PAIRS = 1000 };

static struct {
    const char *name;
    void (*run)(int pairs);
    double ns[SLICES];
} cases[] = {{.name = "floor", .run = run_floor},
             {.name = "macro", .run = run_macro},
             {.name = "text", .run = run_text}};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void run_recorded(void)
{
    const struct timespec pause = {0, 300000};
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = 1; i < CASES; i++) {
            nanosleep(&pause, NULL);
            slice_ns(run_floor, PAIRS); /* wakes the processor */
            cases[0].ns[slice] = slice_ns(run_floor, PAIRS);
            cases[i].ns[slice] = slice_ns(cases[i].run, PAIRS);
        }
    }
    for (int i = 0; i < CASES; i++) {
        qsort(cases[i].ns, SLICES, sizeof(double), by_value);
        printf("%s\"%s\": %.3f, \"%s median\": %.3f", i ? ", " : "{", cases[i].name,
               cases[i].ns[SLICES / 100], cases[i].name, cases[i].ns[SLICES / 2]);
    }
    puts("}");
}

static void run_off(void)
{
    double best = 1e9;
    for (int slice = 0; slice < SLICES; slice++) {
        double ns = slice_ns(run_macro, PAIRS) / 2;
        best = ns < best ? ns : best;
    }
    printf("{\"off\": %.3f}\n", best);
}

int main(void)
{
    if (annot_enabled())
        run_recorded();
    else
        run_off();
    return 0;
}
