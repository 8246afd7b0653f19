/* SPDX-License-Identifier: MIT */
/* Greenlets, also gevent's: stacks that take turns on one thread.
 *
 * Each but the main one of its thread has a track, as a task of asyncio has (task.h): with the
 * range of its life, and those that are opened while it runs. Ranges of the main one are the
 * thread's. The running one is looked up in greenlet after each change of the thread's context: a
 * switch is one. A trace function of greenlet's reports switches, in the greenlet that resumes:
 * then samples show its open ranges, and traced calls (tracing.h) end for now, and resume where it
 * was.
 *
 * A greenlet that was made by a step of a task, to run something for it, runs for that task.
 *
 * Threads: each has its own greenlets and trace function. Only one interpreter of a process may
 * have them, as greenlet supports no more. Functions do not raise. */
#ifndef PYANNOT_GREENLETS_H
#define PYANNOT_GREENLETS_H

#include "task.h"

/* Reports the calling thread's switches from now on, if the program has greenlets. */
void greenlets_watch(void);
bool greenlets_are_unwatched(void); /* it has, and switches are not reported */

/* Returns the greenlet that the calling thread runs, borrowed. NULL: unknown, the program has no
 * greenlets. */
PyObject *greenlet_now(void);

/* True if greenlets have tracks; if another than the main one runs, and has a track. */
bool greenlets_have_tracks(void);
bool greenlet_is_tracked(const struct state *state);

/* greenlet_running returns the running greenlet's own track, greenlet_context that of the task that
 * it runs for, else its own. NULL: it is the main one. */
struct task_track *greenlet_running(struct state *state);
struct task_track *greenlet_context(struct state *state);

/* True if this greenlet may run the task that asyncio reports for this thread. */
bool greenlet_may_run_tasks(void);

/* True if threading starts greenlets in place of threads: gevent or eventlet has replaced
 * _thread.start_new_thread. Cost: two look-ups in dictionaries. */
bool threads_are_greenlets(void);

/* Functions of the greenlet package, borrowed. */
struct greenlet_functions {
    PyObject *getcurrent, *settrace, *gettrace;
};

/* The program has greenlets, in this interpreter. Returns a new tuple of functions that replace the
 * last two from now on; NULL with an exception. */
PyObject *greenlets_begin(struct state *state, const struct greenlet_functions *functions);
bool greenlets_are_of(const struct state *state);

/* Sets whether greenlets have tracks. */
void greenlets_show(bool on);

/* The interpreter is about to end; it has ended, with every object. */
void greenlets_left(const struct state *state);
void greenlets_forget(void);

#endif
