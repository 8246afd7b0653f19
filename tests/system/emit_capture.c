/* SPDX-License-Identifier: MIT */
/* Ranges named "step", and marks and ranges with their place in the name: "in PROCESS THREAD"
 * inside of a step or "out PROCESS THREAD". Prints the number of each. Three processes of three
 * threads: a parent, a child that it forks inside of a step, and one that it forks outside.
 *
 * "burn": rounds of computing and of waiting, both inside of a step and outside. Meanwhile a second
 * thread waits for all of it. Prints the nanoseconds of processor time and of waiting inside. */
#include <annot/annot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 60 };

static pthread_barrier_t barrier;
static const char *process;
static unsigned told[2][THREADS];

static void say(int inside, int thread)
{
    char text[64];
    snprintf(text, sizeof(text), "%s %s %d", inside ? "in" : "out", process, thread);
    annot_push(text);
    annot_mark(text);
    annot_pop();
    annot_counter(text, thread);
    annot_end(annot_start(text));
    told[inside][thread]++;
}

static void *run_thread(void *context)
{
    int thread = (int)(size_t)context;
    annot_domain domain = annot_domain_create("lib");
    const struct annot_event event = {.text = "step", .domain = domain};
    for (int round = 0; round < ROUNDS; round++) {
        say(0, thread);
        pthread_barrier_wait(&barrier);
        if (thread == round % THREADS)
            annot_push_event(&event);
        pthread_barrier_wait(&barrier);
        say(1, thread);
        pthread_barrier_wait(&barrier);
        if (thread == round % THREADS)
            annot_pop();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void run_process(const char *name)
{
    pthread_t threads[THREADS];
    process = name;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%s %d %u %u\n", name, i, told[0][i], told[1][i]);
    fflush(stdout);
}

static void fork_one(const char *name, int inside)
{
    pid_t pid = fork();
    if (pid == 0) {
        process = name;
        say(inside, 0);
        if (inside)
            annot_pop();
        say(0, 0);
        run_process(name);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* ---- Samples --------------------------------------------------------------------------------- */

enum { BURN_ROUNDS = 12, BURN_NS = 25000000 };

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burn_and_wait(int64_t *ret_burnt, int64_t *ret_waited)
{
    int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID), until = from + BURN_NS;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        continue;
    int64_t wait = now_ns(CLOCK_MONOTONIC);
    usleep(BURN_NS / 1000);
    *ret_burnt += now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
    *ret_waited += now_ns(CLOCK_MONOTONIC) - wait;
}

static void *wait_for_all(void *context)
{
    char byte;
    (void)!read(*(int *)context, &byte, 1);
    return NULL;
}

static int burn(void)
{
    int64_t burnt = 0, waited = 0, outside = 0, inside_ns = 0;
    int ends[2];
    pthread_t waiter;
    if (pipe(ends) != 0 || pthread_create(&waiter, NULL, wait_for_all, &ends[0]) != 0)
        return 1;
    for (int i = 0; i < BURN_ROUNDS; i++) {
        burn_and_wait(&outside, &outside);
        int64_t from = now_ns(CLOCK_MONOTONIC);
        annot_push("step");
        burn_and_wait(&burnt, &waited);
        annot_pop();
        inside_ns += now_ns(CLOCK_MONOTONIC) - from;
    }
    close(ends[1]);
    pthread_join(waiter, NULL);
    printf("%lld %lld %lld\n", (long long)burnt, (long long)waited, (long long)inside_ns);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "burn") == 0)
        return burn();
    const struct annot_event event = {.text = "step", .domain = annot_domain_create("lib")};
    annot_push("around");
    fork_one("outside", 0);
    annot_push_event(&event);
    fork_one("inside", 1);
    annot_pop();
    run_process("parent");
    annot_pop();
    return 0;
}
