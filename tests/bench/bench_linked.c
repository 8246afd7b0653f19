/* SPDX-License-Identifier: MIT */
/* What an event costs a program that is built as a user builds one: run.py links it with the flags
 * of annot.pc and annot-static.pc, as a plain executable and with its code in a shared library, and
 * runs it under `annot record`, whose collector drains it, and without.
 *
 * The slices alternate, as in bench_pair.c; between them the program sleeps, so that the collector
 * follows. Prints one JSON object: nanoseconds of the floor (two time stamps, two 16-byte stores)
 * and of pairs, or of one event while nobody records. */
#define _GNU_SOURCE
#include <annot/annot.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { SLICES = 2000, PAIRS = 1000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((aligned(64))) uint64_t floor_ring[4096];
static uint32_t floor_at;

static __attribute__((noinline)) void floor_store(uint64_t head)
{
    uint64_t *at = &floor_ring[floor_at];
    at[0] = __rdtsc();
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

static void run_macro(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        ANNOT_PUSH("linked");
        ANNOT_POP();
    }
}

static void run_text(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        annot_push("linked by text");
        annot_pop();
    }
}

static struct {
    const char *name;
    void (*run)(int pairs);
    double ns[SLICES];
} cases[] = {{.name = "floor", .run = run_floor},
             {.name = "macro", .run = run_macro},
             {.name = "text", .run = run_text}};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static double run_slice(void (*run)(int pairs))
{
    uint64_t before = now_ns();
    run(PAIRS);
    return (double)(now_ns() - before) / PAIRS;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static void run_recorded(void)
{
    const struct timespec pause = {0, 300000};
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = 1; i < CASES; i++) {
            nanosleep(&pause, NULL);
            run_slice(run_floor); /* wakes the processor */
            cases[0].ns[slice] = run_slice(run_floor);
            cases[i].ns[slice] = run_slice(cases[i].run);
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
        double ns = run_slice(run_macro) / 2;
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
