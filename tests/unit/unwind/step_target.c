/* SPDX-License-Identifier: MIT */
/* A program with all kinds of frames, for single-stepping: recursion, frames of variable size,
 * realigned frames, callbacks, lazily bound calls, jumps out of calls, signals on both stacks, the
 * vDSO. With an argument, runs in a second thread. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#ifdef __clang__
#define APART  __attribute__((noinline))
#define FRAMED __attribute__((noinline))
#else
#define APART  __attribute__((noinline, noclone))
#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#endif

static volatile unsigned long sink;
static jmp_buf jump;

APART static unsigned long leaf(unsigned long x)
{
    sink += x;
    return x * 31 + sink;
}

APART static unsigned long recurse(unsigned depth)
{
    char *room = alloca(depth * 8 + 16);
    memset(room, (int)depth, depth * 8 + 16);
    if (depth > 0)
        return recurse(depth - 1) + (unsigned char)room[depth];
    return leaf(3);
}

/* A realigned frame that also changes its size: addressed by a third register in its prologue. */
APART static unsigned long realigned(size_t size)
{
    unsigned long wide[8] __attribute__((aligned(64)));
    char *room = alloca(size);
    memset(room, 1, size);
    for (int i = 0; i < 8; i++)
        wide[i] = leaf((unsigned char)room[i]);
    return wide[3] + ((uintptr_t)wide & 63);
}

FRAMED static unsigned long framed(unsigned n)
{
    return n ? framed(n - 1) + leaf(n) : 0;
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (int)leaf((unsigned long)(x < y)) ? (x > y) - (x < y) : 0;
}

APART static void sort_some(void)
{
    int values[40];
    for (int i = 0; i < 40; i++)
        values[i] = (i * 7919) % 41;
    qsort(values, 40, sizeof(*values), by_value);
    sink += (unsigned long)values[3];
}

APART static void jump_out(unsigned depth)
{
    if (depth == 0)
        longjmp(jump, 1);
    if (depth < 100)
        jump_out(depth - 1);
    sink++;
}

static void on_signal(int number)
{
    sink += recurse(3) + (unsigned long)number;
    sort_some();
}

APART static void take_signals(void)
{
    static char memory[32768];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    sigaltstack(&stack, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
}

APART static void read_clocks(void)
{
    struct timespec time_now;
    struct timeval day;
    clock_gettime(CLOCK_MONOTONIC, &time_now);
    clock_gettime(CLOCK_REALTIME_COARSE, &time_now);
    gettimeofday(&day, NULL);
    sink +=
        (unsigned long)time_now.tv_nsec + (unsigned long)day.tv_usec + (unsigned long)time(NULL);
}

APART static void use_library(void)
{
    char text[200];
    snprintf(text, sizeof(text), "%.17g %s %llx", 3.14159 * (double)sink, "text", 123456789ull);
    sink += strlen(text) + (unsigned long)strtod(text, NULL) + (unsigned long)strtol("77", NULL, 8);
    char *copy = strdup(text);
    free(copy);
    sink += getenv("PATH") != NULL;
}

static void *work(void *argument)
{
    recurse(30);
    realigned(100);
    framed(10);
    sort_some();
    if (setjmp(jump) == 0)
        jump_out(5);
    take_signals();
    read_clocks();
    use_library();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (argc < 2)
        return work(NULL) != NULL;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
