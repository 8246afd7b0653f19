/* SPDX-License-Identifier: MIT */
/* Per thread: which of the open `with` statements were entered while somebody recorded.
 *
 * Recording may begin and end inside a `with`. The exit of one that was entered while nobody
 * recorded must not pop: there is nothing of it to close, and the innermost open range may be
 * another's. The annotation itself cannot remember, because one object serves all threads and
 * levels of recursion. So each thread counts its open statements and keeps the runs of equal state
 * among them. As recording seldom changes, there is nearly always one run, whatever the depth.
 *
 * A forked child leaves statements that its parent has open, too. On a thread's own stack libannot
 * knows them by themselves; those on tracks must not end what is the parent's.
 *
 * Invariants: runs alternate between on and off; the outermost run starts at 0; depth >= start. */
#ifndef PYANNOT_ENTERED_H
#define PYANNOT_ENTERED_H

#include <stdbool.h>
#include <stdint.h>

enum { ENTERED_OUTER_RUNS = 6 };

struct entered {
    uint32_t depth; /* open statements */
    uint32_t start; /* those from here inwards are the innermost run */
    bool on;        /* the state of that run */
    uint8_t outer_count;
    uint32_t outer_starts[ENTERED_OUTER_RUNS]; /* of the runs around it, outermost first */
    uint32_t inherited; /* the outermost so many were entered before the fork */
};

extern _Thread_local struct entered entered_thread __attribute__((tls_model("initial-exec")));

/* How often this process is the child of a fork: a statement that has kept another number was
 * entered by a parent. */
extern uint32_t entered_forks;

/* To be called once; harmless when called again. 0 or a positive errno. */
int entered_watch_forks(void);

void entered_switch(struct entered *entered, bool on);
bool entered_leave_run(struct entered *entered);

/* A statement is entered in state `on`. */
static inline void entered_push(bool on)
{
    struct entered *entered = &entered_thread;
    if (__builtin_expect(entered->on != on, 0))
        entered_switch(entered, on);
    entered->depth++;
}

/* The innermost statement is left; returns the state in which it was entered. */
static inline bool entered_pop(void)
{
    struct entered *entered = &entered_thread;
    if (__builtin_expect(entered->depth <= entered->start, 0))
        return entered_leave_run(entered);
    entered->depth--;
    return entered->on;
}

/* The same, for a statement whose exit asks entered_pop_own. */
static inline void entered_push_own(bool on)
{
    struct entered *entered = &entered_thread;
    if (entered->inherited > entered->depth)
        entered->inherited = entered->depth;
    entered_push(on);
}

/* False also for one that was entered before the fork. */
static inline bool entered_pop_own(void)
{
    return entered_pop() && entered_thread.depth >= entered_thread.inherited;
}

#endif
