/* SPDX-License-Identifier: MIT */
/* Runs of equal state among a thread's open `with` statements: the rare cases. */
#include "entered.h"

#include <pthread.h>
#include <string.h>

_Thread_local struct entered entered_thread;
uint32_t entered_forks;

/* In the child: its only thread is the one that forked. */
static void after_fork(void)
{
    entered_forks++;
    entered_thread.inherited = entered_thread.depth;
}

static int watch_result;

static void watch(void)
{
    watch_result = pthread_atfork(NULL, NULL, after_fork);
}

int entered_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    return watch_result;
}

static void run_drop(struct entered *entered)
{
    entered->start = entered->outer_starts[--entered->outer_count];
    entered->on = !entered->on;
}

/* More changes inside open statements than there is room for: the outermost three runs become one,
 * the middle one taking its neighbours' state. Its pops then find an empty stack, because libannot
 * resets a thread's stack whenever recording begins. */
static void runs_merge(struct entered *entered)
{
    entered->outer_count -= 2;
    memmove(entered->outer_starts + 1, entered->outer_starts + 3,
            (entered->outer_count - 1) * sizeof(entered->outer_starts[0]));
}

void entered_switch(struct entered *entered, bool on)
{
    bool run_is_empty = entered->depth == entered->start;
    if (run_is_empty && entered->outer_count > 0) {
        run_drop(entered); /* back in the outer run, which has the other state */
        return;
    }
    if (!run_is_empty) {
        if (entered->outer_count == ENTERED_OUTER_RUNS)
            runs_merge(entered);
        entered->outer_starts[entered->outer_count++] = entered->start;
        entered->start = entered->depth;
    }
    entered->on = on;
}

bool entered_leave_run(struct entered *entered)
{
    if (entered->depth == 0)
        return false; /* entered on another thread: it has no range here */
    while (entered->outer_count > 0 && entered->depth <= entered->start)
        run_drop(entered);
    entered->depth--;
    return entered->on;
}
