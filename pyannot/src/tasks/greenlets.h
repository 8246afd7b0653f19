/* SPDX-License-Identifier: MIT */
/* Greenlets, and so gevent's: stacks that take turns on one thread.
 *
 * Each but the main one of its thread has a track, as a task of asyncio has (task.h): with the
 * range of its life, and those that are opened while it runs. The main one's are the thread's.
 * Which one runs is asked of greenlet, after each change of the thread's context: a switch is one.
 * A trace function of greenlet's tells of switches, in the one that goes on: then samples learn
 * what that one has open, and calls that are traced (tracing.h) end for now, and go on where it
 * was.
 *
 * A greenlet that was made by a step of a task, to run something for it, runs for that task.
 *
 * Threads: each has greenlets and a trace function of its own. Only one interpreter of a process
 * may have them: greenlet knows no more. Nothing here raises. */
#ifndef PYANNOT_GREENLETS_H
#define PYANNOT_GREENLETS_H

#include "task.h"

/* The calling thread's switches are told from here on, if the program has greenlets. */
void greenlets_watch(void);
bool greenlets_are_unwatched(void); /* it has, and they are not */

/* The one that the calling thread runs, borrowed. NULL: not known, the program has none. */
PyObject *greenlet_now(void);

/* Whether greenlets have tracks; whether another than the main one runs, and has one. */
bool greenlets_have_tracks(void);
bool greenlet_is_tracked(const struct state *state);

/* Its track, for what it does not for a task; and that of the task that it runs for, if it does.
 * NULL: it is the main one. */
struct task_track *greenlet_running(struct state *state);
struct task_track *greenlet_context(struct state *state);

/* Whether a task that asyncio says runs on this thread may be run by this greenlet. */
bool greenlet_may_run_tasks(void);

/* Functions of the greenlet package, borrowed. */
struct greenlet_functions {
    PyObject *getcurrent, *settrace, *gettrace;
};

/* The program has greenlets, which are this interpreter's. Returns a new tuple of the functions
 * that stand in place of the last two from here on; NULL with an exception. */
PyObject *greenlets_begin(struct state *state, const struct greenlet_functions *functions);
bool greenlets_are_of(const struct state *state);

/* Whether they have tracks from here on. */
void greenlets_show(bool on);

/* The interpreter is about to go; it has gone, with every object. */
void greenlets_left(const struct state *state);
void greenlets_forget(void);

#endif
