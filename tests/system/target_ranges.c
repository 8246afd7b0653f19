/* SPDX-License-Identifier: MIT */
/* Ranges of the same four names in three domains, in forked processes, their children and threads,
 * each of which burns CPU time outside of its own ranges too.
 *
 * target_ranges UNIT_MS: prints "PID TID PATH NANOSECONDS STRETCHES" for each range of each thread,
 * by the thread's own clock; PATH as reports have it, "(inherited)" for time outside of ranges in a
 * fork. STRETCHES: the number of pieces in which it ran. */
#include "spin.h"

#include "annot/annot.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 8, NAMES = 4, DOMAINS = 3 };

static const char *const names[NAMES] = {"alpha", "beta", "gamma", "delta"};
static const char *const domains[DOMAINS] = {NULL, "A", "B"};
static int64_t unit_ns;

struct spent {
    int64_t ns;
    long stretches;
};

static long switch_count(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void spend(struct spent *spent, int64_t ns)
{
    long before = switch_count();
    spent->ns += spin_inline(ns);
    spent->stretches += switch_count() - before + 1;
}

/* One write, so that lines of several processes do not mix. */
static void tell(const char *domain, const char *name, const struct spent *spent)
{
    char line[160];
    int length = snprintf(line, sizeof(line), "%d %ld %s%s%s %" PRId64 " %ld\n", getpid(),
                          syscall(SYS_gettid), domain ? domain : "", domain ? ":" : "", name,
                          spent->ns, spent->stretches);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(2);
}

/* Each process has its own order: the n-th name of one is the next process's n-th plus one. */
static void burn_all(int turn)
{
    for (int i = 0; i < NAMES * DOMAINS; i++) {
        int at = (i + turn) % (NAMES * DOMAINS);
        const char *domain = domains[at / NAMES];
        struct annot_event event = {.text = names[at % NAMES],
                                    .domain = domain ? annot_domain_create(domain) : 0};
        struct spent spent = {0};
        annot_push_event(&event);
        spend(&spent, unit_ns * (1 + at % 3));
        annot_pop();
        tell(domain, names[at % NAMES], &spent);
    }
}

static void *run(void *argument)
{
    burn_all((int)(intptr_t)argument);
    return NULL;
}

static void wait_for_all(void)
{
    int status;
    while (wait(&status) > 0)
        if (status != 0)
            exit(3);
}

/* A process with a thread beside its first one and, on the first level, a child. */
static void live(int turn, int level)
{
    pthread_t thread;
    struct spent outside = {0};
    if (level)
        spend(&outside, unit_ns);
    burn_all(turn);
    if (level == 1 && turn % 4 == 0) {
        annot_push("nested");
        pid_t pid = fork();
        if (pid == 0) {
            live(turn + 5, 2);
            _exit(0);
        }
        annot_pop();
    }
    if (pthread_create(&thread, NULL, run, (void *)(intptr_t)(turn + 1)) != 0)
        exit(4);
    pthread_join(thread, NULL);
    if (level) {
        spend(&outside, unit_ns);
        tell(NULL, "(inherited)", &outside);
    }
    wait_for_all();
}

int main(int argc, char **argv)
{
    unit_ns = argc > 1 ? atoi(argv[1]) * INT64_C(1000000) : 10000000;
    annot_push("parent");
    for (int i = 0; i < FORKS; i++) {
        if (fork() == 0) {
            live(i, 1);
            _exit(0);
        }
    }
    annot_pop();
    live(0, 0);
    return 0;
}
