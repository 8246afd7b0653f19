/* SPDX-License-Identifier: MIT */
/* Calls that are traced, and the tasks of asyncio that they are made for.
 *
 * A step of a task is told like a call around those that it makes (ANNOT_CODE_TASK). A coroutine
 * that a task runs is, beside its pieces on the thread, a range on a track of its own below the
 * task's: from its begin to its end, with the times inside in which the task was suspended. So
 * these are told where code is a coroutine's and where steps are, and nothing else pays for it.
 *
 * Threads: a task runs on one at a time. Nothing here raises. */
#ifndef PYANNOT_TRACING_TASKS_H
#define PYANNOT_TRACING_TASKS_H

#include "task.h"

/* Whose tasks they are, while calls of its interpreter are traced. */
void trace_tasks_setup(struct state *state);
/* It is about to go: nobody's, if they are its. */
void trace_tasks_left(const struct state *state);

/* Around a step. True: it was told, and its end is to be. */
bool trace_step_begin(struct task_track *track);
void trace_step_end(void);

/* The calling thread runs another greenlet. */
void trace_greenlet_switched(void);
/* The program has greenlets: all threads look again. */
void trace_greenlets_known(void);

/* The task is over: what it had open ends. */
void trace_task_end(struct task_track *track);
/* Nothing is told any more; or the process is another one, where nothing was. */
void trace_task_forget(struct task_track *track);

#endif
