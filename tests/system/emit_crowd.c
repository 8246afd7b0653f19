/* SPDX-License-Identifier: MIT */
/* emit_crowd PROCESSES THREADS PAIRS PER_SECOND: many threads in each of many processes at once.
 *
 * All threads of all processes exist at the same time: they begin together and end together (a
 * barrier in shared memory), so no thread reuses another's record. Each emits its pairs in bursts,
 * spread so that together they make PER_SECOND records a second. Prints the number of emitted
 * records and the largest memory of one process. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <annot/annot.h>

#include "account.h"

enum { BURST = 20 };

struct common {
    pthread_barrier_t barrier;
    uint64_t records, threads;
    uint64_t peak_kib;
    int64_t begin;
};
static struct common *common;
static uint64_t process_count, thread_count, pair_count, per_second;

/* Waits until all threads of all processes have started; the first one out sets the time. */
static int64_t begin_together(void)
{
    int64_t none = 0, now;
    pthread_barrier_wait(&common->barrier);
    now = emit_now();
    __atomic_compare_exchange_n(&common->begin, &none, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    __atomic_fetch_add(&common->threads, 1, __ATOMIC_RELAXED);
    return none ? none : now;
}

static void *emit(void *argument)
{
    uint64_t number = (uintptr_t)argument;
    int64_t begin = begin_together();
    /* A round is one burst of every thread. */
    uint64_t all = process_count * thread_count;
    int64_t round_ns = (int64_t)(all * BURST * 2 * 1000000000 / per_second);
    int64_t start = begin + 500000000 + (int64_t)(number * (uint64_t)round_ns / all);
    uint64_t records = 0;
    for (uint64_t i = 0; i < pair_count; i++) {
        if (i % BURST == 0)
            emit_sleep_until(start + (int64_t)(i / BURST) * round_ns);
        ANNOT_PUSH("work");
        ANNOT_POP();
        records += 2;
    }
    __atomic_fetch_add(&common->records, records, __ATOMIC_RELAXED);
    pthread_barrier_wait(&common->barrier);
    return NULL;
}

static int run_process(uint64_t index)
{
    pthread_t *threads = calloc(thread_count, sizeof(*threads));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (uint64_t i = 0; i < thread_count; i++) {
        void *number = (void *)(uintptr_t)(index * thread_count + i);
        if (pthread_create(&threads[i], &attributes, emit, number) != 0)
            return 1;
    }
    for (uint64_t i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t kib = (uint64_t)usage.ru_maxrss, peak = __atomic_load_n(&common->peak_kib, 0);
    while (kib > peak && !__atomic_compare_exchange_n(&common->peak_kib, &peak, kib, 0,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return 0;
}

static int make_common(void)
{
    pthread_barrierattr_t shared;
    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    return common == MAP_FAILED ? -1
                                : pthread_barrier_init(&common->barrier, &shared,
                                                       (unsigned)(process_count * thread_count));
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    process_count = strtoull(argv[1], NULL, 10);
    thread_count = strtoull(argv[2], NULL, 10);
    pair_count = strtoull(argv[3], NULL, 10);
    per_second = strtoull(argv[4], NULL, 10);
    pid_t *children = calloc(process_count, sizeof(*children));
    if (!children || make_common() != 0)
        return 1;
    for (uint64_t i = 0; i < process_count; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(run_process(i));
    }
    int status, failed = 0;
    while (wait(&status) > 0) {
        for (uint64_t i = 0; status != 0 && !failed && i < process_count; i++)
            kill(children[i], SIGKILL); /* the barrier will never open */
        failed |= status != 0;
    }
    printf("{\"records\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"peak_kib\":%" PRIu64 "}\n",
           common->records, common->threads, common->peak_kib);
    return failed;
}
