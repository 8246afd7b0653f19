/* SPDX-License-Identifier: MIT */
/* Calls functions that annot makes ranges of, a known number of times.
 *
 *     target_probed calls     recursion, longjmp, tail calls, threads, a fork, exits inside
 *     target_probed asked     the same arguments in three threads, some of them invalid pointers
 *     target_probed times     prints how long each call took, by its own clock
 *     target_probed hot       calls one as fast as it can, for a second
 *     target_probed waits     the same as calls, once a line came on standard input
 *     target_probed loads FILE    a library, a moment later its function
 *     target_probed forks     one that begins with a nop of five bytes, in a child, too; the exit
 *                             status is 1 if the child crashed */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))

static volatile int sink;
static jmp_buf away;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

ALONE static int probed_work(int x)
{
    for (int i = 0; i < 100; i++)
        sink += i;
    return x + 1;
}

#ifdef __x86_64__
__attribute__((naked)) ALONE static void probed_nop(void)
{
    __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tret");
}
#else
ALONE static void probed_nop(void)
{
    sink++;
}
#endif

ALONE static int probed_deep(int n)
{
    int below = n > 0 ? probed_deep(n - 1) : 0;
    sink += below; /* after the call: prevents a loop */
    return below + 1;
}

ALONE static void probed_jumps(int n)
{
    if (n == 0)
        longjmp(away, 1);
    if (n > 0)
        probed_jumps(n - 1);
    sink++;
}

ALONE static int probed_lands(int n)
{
    if (setjmp(away) == 0)
        probed_jumps(n);
    return sink;
}

ALONE static int probed_target(int x)
{
    sink += x;
    return x * 2;
}

ALONE static int probed_tail(int x)
{
    sink++;
    return probed_target(x + 1);
}

/* On a condition, a jump to another function; and a table of places. */
ALONE static int probed_maybe(int x)
{
    if (x & 1)
        return probed_target(x);
    return sink;
}

ALONE static int probed_picks(int x)
{
    switch (x) {
    case 0:
        return sink + 7;
    case 1:
        sink = 3;
        return 1;
    case 2:
        return sink * 5;
    case 3:
        sink ^= 1;
        return 9;
    case 4:
        return probed_target(4);
    default:
        return 0;
    }
}

ALONE static void probed_leaves(void)
{
    pthread_exit(NULL);
}

static void *work(void *unused)
{
    for (int i = 0; i < 20; i++)
        probed_work(i);
    probed_deep(200); /* deeper than is kept */
    return unused;
}

static void *leave(void *unused)
{
    probed_leaves();
    return unused;
}

static void call_all(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 3 ? work : leave, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        probed_lands(4);
    for (int i = 0; i < 6; i++) {
        probed_tail(i);
        probed_maybe(i);
        probed_picks(i);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 7; i++)
            probed_work(i);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Its own clock is read inside: the range is longer, by the reading time. */
ALONE static void probed_timed(int round)
{
    int64_t begin_ns = now_ns();
    const struct timespec pause = {.tv_nsec = (round % 4) * 300000};
    nanosleep(&pause, NULL);
    while (now_ns() - begin_ns < (round % 4 + 1) * INT64_C(400000))
        ;
    printf("%lld\n", (long long)(now_ns() - begin_ns));
}

ALONE static int probed_asked(int number, const char *text, long large, unsigned small)
{
    sink += number + (int)large + (int)small + (text != NULL);
    return sink;
}

static void *ask(void *unused)
{
    static char longer[200];
    memset(longer, 'x', sizeof(longer) - 1);
    for (int i = 0; i < 50; i++)
        probed_asked(-i, "two words", -5000000000 - i, 4000000000U);
    probed_asked(100, longer, 1, 2);
    probed_asked(101, NULL, 1, 2);
    probed_asked(102, (const char *)(uintptr_t)8, 1, 2);
    probed_asked(103, "\xff\"\n", 1, 2);
    probed_deep(3);
    return unused;
}

static void ask_all(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, ask, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    probed_lands(2);
}

static void call_loaded(const char *path)
{
    const struct timespec moment = {.tv_nsec = 800000000};
    void *library = dlopen(path, RTLD_NOW);
    int (*function)(int) = library ? (int (*)(int))dlsym(library, "probed_loaded") : NULL;
    if (!function)
        exit(1);
    nanosleep(&moment, NULL);
    for (int i = 0; i < 9; i++)
        sink += function(i);
}

static int call_in_child(void)
{
    int status = 0;
    for (int i = 0; i < 5; i++)
        probed_nop();
    pid_t child = fork();
    if (child == 0) {
        probed_nop();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "calls";
    if (strcmp(mode, "waits") == 0)
        (void)getchar();
    if (strcmp(mode, "calls") == 0 || strcmp(mode, "waits") == 0)
        call_all();
    for (int i = 0; strcmp(mode, "times") == 0 && i < 40; i++)
        probed_timed(i);
    for (int64_t end_ns = now_ns() + 1000000000; strcmp(mode, "hot") == 0 && now_ns() < end_ns;)
        probed_target(1);
    if (strcmp(mode, "asked") == 0)
        ask_all();
    if (strcmp(mode, "forks") == 0)
        return call_in_child();
    if (strcmp(mode, "loads") == 0)
        call_loaded(argv[2]);
    return 0;
}
