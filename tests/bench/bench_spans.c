/* SPDX-License-Identifier: MIT */
/* The cost to a program of reporting the work of a queue, beside a pair of push and pop: medians of
 * ROUNDS alternating rounds, in ns.
 *
 *     annot record -o FILE -- bench_spans */
#include <annot/annot.h>
#include <annot/queues.h>
#include <annot/values.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 21, CALLS = 2000 }; /* a round stays below the pool of the process */

static annot_queue queue;
static annot_name label;
static struct annot_origin origin;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_pairs(void)
{
    for (int i = 0; i < CALLS; i++) {
        ANNOT_PUSH("pair");
        ANNOT_POP();
    }
}

static void run_launches(void)
{
    for (int i = 0; i < CALLS; i++) {
        origin = annot_origin_here();
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, 1);
    }
}

static void emit(size_t value_count)
{
    const struct annot_value value = annot_value_uint64(ANNOT_QUEUE_KEY_CORRELATION, 1);
    struct annot_span span = {.name = label,
                              .queue = queue,
                              .origin = origin,
                              .flags = ANNOT_SPAN_LAUNCHED,
                              .values = &value,
                              .value_count = value_count};
    for (int i = 0; i < CALLS; i++) {
        span.begin = annot_queue_time();
        span.end = span.begin + 1;
        annot_emit_spans(&span, 1);
    }
}

static void run_spans(void)
{
    emit(0);
}

static void run_spans_with_value(void)
{
    emit(1);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void)
{
    static void (*const runs[])(void) = {run_pairs, run_launches, run_spans, run_spans_with_value};
    static const char *const names[] = {"push and pop", "launch: origin and count",
                                        "span, 48 bytes", "span with a value, 64 bytes"};

    enum { RUNS = sizeof(runs) / sizeof(*runs) };

    static double found[RUNS][ROUNDS];
    const struct timespec pause = {.tv_nsec = 50000000}; /* for the collector */
    const struct annot_value grid = annot_value_string(ANNOT_QUEUE_KEY_GRID, "64,1,1");
    queue = annot_queue_create(ANNOT_QUEUE_QUEUE, 7, 0, "stream 7");
    label = annot_queue_label("kernel", &grid, 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < RUNS; i++) {
            nanosleep(&pause, NULL);
            double begin = now_ns();
            runs[i]();
            found[i][round] = (now_ns() - begin) / CALLS;
        }
    for (int i = 0; i < RUNS; i++) {
        qsort(found[i], ROUNDS, sizeof(double), by_value);
        printf("%-28s %7.1f ns\n", names[i], found[i][ROUNDS / 2]);
    }
    return annot_enabled() ? 0 : 1;
}
