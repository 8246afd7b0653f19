/* SPDX-License-Identifier: MIT */
/* The program of the flight recorder's tests: threads that write as fast as they can until they are
 * stopped, and count their calls in a shared file (KILL_COUNTS), each in its own slot.
 *
 *     recorder_target THREADS BRIEF     BRIEF: short threads that come and go beside them
 *
 * The calls of a thread follow a rule, so that each recorded event identifies its call: call 0
 * opens the range "outer"; call 1 + 3n is the counter "n" of value n, then a range "work" begins
 * and ends. A call is counted after it came back. Threads call themselves "writer SLOT". */
#include "kill_counts.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS_MAX = 32, BRIEF_ROUNDS = 100 };

static struct kill_counts *counts;

static void count(uint64_t *slot)
{
    __atomic_store_n(slot, *slot + 1, __ATOMIC_RELAXED);
}

static uint64_t *begin(uint32_t slot)
{
    char name[32];
    snprintf(name, sizeof(name), "writer %u", slot);
    annot_name_thread(name);
    annot_push("outer");
    count(&counts->calls[slot]);
    return &counts->calls[slot];
}

static void write_round(uint64_t *slot, uint64_t n)
{
    ANNOT_COUNTER("n", n);
    count(slot);
    ANNOT_PUSH("work");
    count(slot);
    annot_pop();
    count(slot);
}

static int is_told_to_stop(void)
{
    return __atomic_load_n(&counts->go_on, __ATOMIC_SEQ_CST) != 0;
}

static void *write_fast(void *context)
{
    uint64_t *slot = begin((uint32_t)(uintptr_t)context);
    __atomic_fetch_add(&counts->holding, 1, __ATOMIC_SEQ_CST);
    for (uint64_t n = 0; !is_told_to_stop(); n++)
        write_round(slot, n);
    return NULL;
}

static void *write_briefly(void *context)
{
    for (uint64_t n = 0; n < BRIEF_ROUNDS; n++)
        write_round(context, n);
    return NULL;
}

/* All in one slot: one lives at a time. */
static void *start_brief_ones(void *context)
{
    pthread_t thread;
    while (!is_told_to_stop()) {
        if (pthread_create(&thread, NULL, write_briefly, context) != 0)
            abort();
        pthread_join(thread, NULL);
        usleep(1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX], starter;
    int fd = open(getenv("KILL_COUNTS"), O_RDWR);
    int thread_count = argc == 3 ? atoi(argv[1]) : 0, brief = argc == 3 ? atoi(argv[2]) : 0;
    if (argc != 3 || fd < 0 || thread_count > THREADS_MAX)
        return 99;
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    __atomic_store_n(&counts->pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
    for (int i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, write_fast, (void *)(uintptr_t)i) != 0)
            abort();
    if (brief && pthread_create(&starter, NULL, start_brief_ones, &counts->calls[THREADS_MAX]) != 0)
        abort();
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    if (brief)
        pthread_join(starter, NULL);
    return 0;
}
