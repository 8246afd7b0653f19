/* SPDX-License-Identifier: MIT */
/* Runs of equal state among a thread's open `with` statements: the rare cases. */
#include "entered.h"

#include <string.h>

_Thread_local struct entered entered_thread;

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
        run_drop(entered); /* back in the run around it, whose state is the other one */
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
        return false; /* entered on another thread: nothing of it is open here */
    while (entered->outer_count > 0 && entered->depth <= entered->start)
        run_drop(entered);
    entered->depth--;
    return entered->on;
}
