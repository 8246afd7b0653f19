/* SPDX-License-Identifier: MIT */
/* Per thread: which open `with` statements were entered during a recording.
 *
 * Recording may begin and end inside a `with`. The exit of a statement that was entered without a
 * recording must not pop: it has opened no range, and the innermost open range may be another's.
 * The annotation itself cannot store this, because one object serves all threads and levels of
 * recursion. So each thread counts its open statements and keeps the runs of equal state among
 * them. As recording seldom changes, there is nearly always one run, whatever the depth.
 *
 * A forked child also leaves statements that its parent has open. libannot recognizes those on a
 * thread's own stack; those on tracks must not end ranges of the parent.
 *
 * Invariants: runs alternate between on and off; the outermost run starts at 0; depth >= start. */
#ifndef PYANNOT_ENTERED_H
#define PYANNOT_ENTERED_H

#include <stdbool.h>
#include <stdint.h>

enum { ENTERED_OUTER_RUNS = 6 };

struct entered {
    uint32_t depth; /* open statements */
    uint32_t start; /* the innermost run is from here inwards */
    bool on;        /* the state of that run */
    uint8_t outer_count;
    uint32_t outer_starts[ENTERED_OUTER_RUNS]; /* of the runs around it, outermost first */
    uint32_t inherited; /* number of outermost ones entered before the fork */
};

extern _Thread_local struct entered entered_thread __attribute__((tls_model("initial-exec")));

/* How many forks led to this process: a statement that has kept another number was entered by a
 * parent. */
extern uint32_t entered_forks;

/* Call this once; harmless when called again. 0 or a positive errno. */
int entered_watch_forks(void);

void entered_switch(struct entered *entered, bool on);
bool entered_leave_run(struct entered *entered);

/* Enters a statement in state `on`. */
static inline void entered_push(bool on)
{
    struct entered *entered = &entered_thread;
    if (__builtin_expect(entered->on != on, 0))
        entered_switch(entered, on);
    entered->depth++;
}

/* Leaves the innermost statement; returns the state in which it was entered. */
static inline bool entered_pop(void)
{
    struct entered *entered = &entered_thread;
    if (__builtin_expect(entered->depth <= entered->start, 0))
        return entered_leave_run(entered);
    entered->depth--;
    return entered->on;
}

/* The same, for a statement with entered_pop_own at its exit. */
static inline void entered_push_own(bool on)
{
    struct entered *entered = &entered_thread;
    if (entered->inherited > entered->depth)
        entered->inherited = entered->depth;
    entered_push(on);
}

/* Also false for one that was entered before the fork. */
static inline bool entered_pop_own(void)
{
    return entered_pop() && entered_thread.depth >= entered_thread.inherited;
}

#endif
