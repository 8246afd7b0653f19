/* SPDX-License-Identifier: MIT */
/* The program around each tool: rival-NAME [TRACE]. Reads orders from standard input and answers
 * each with one line:
 *
 *   pairs N      ns of the floor and ns of a pair, N of each in turn
 *   counters N   ns of the floor and ns of a counter
 *   threads N    kilobytes by which N threads' first events make the process grow
 *   quit
 *
 * The floor is two time stamps and two 16-byte stores. */
#include "../bench_floor.h"
#include "rival.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 256, EVENTS_OF_A_THREAD = 100 };

static pthread_barrier_t barrier;

static void answer_times(void (*run)(int count), int count)
{
    double floor_ns = slice_ns(run_floor, count);
    printf("%.3f %.3f\n", floor_ns, slice_ns(run, count));
}

static long resident_kb(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
        exit(1);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Waits before and after its events, so that its stack is not measured. */
static void *emit_once(void *context)
{
    (void)context;
    pthread_barrier_wait(&barrier); /* all run */
    pthread_barrier_wait(&barrier); /* measured */
    rival_pairs(EVENTS_OF_A_THREAD);
    pthread_barrier_wait(&barrier); /* all have emitted */
    pthread_barrier_wait(&barrier); /* measured */
    return NULL;
}

static void answer_threads(int count)
{
    pthread_t threads[THREADS_MAX];
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, emit_once, NULL) != 0)
            exit(1);
    pthread_barrier_wait(&barrier);
    long before = resident_kb();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    printf("%ld\n", resident_kb() - before);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void answer(const char *order, int count)
{
    if (count < 1)
        exit(2);
    if (strcmp(order, "pairs") == 0)
        answer_times(rival_pairs, count);
    else if (strcmp(order, "counters") == 0)
        answer_times(rival_counters, count);
    else if (strcmp(order, "threads") == 0 && count <= THREADS_MAX)
        answer_threads(count);
    else
        exit(2);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char order[16];
    int count = 0;
    rival_begin(argc > 1 ? argv[1] : NULL);
    puts("ready");
    fflush(stdout);
    while (scanf("%15s", order) == 1 && strcmp(order, "quit") != 0) {
        if (scanf("%d", &count) != 1)
            return 2;
        answer(order, count);
    }
    rival_end();
    return 0;
}
