/* SPDX-License-Identifier: MIT */
/* Traced calls, and the tasks of asyncio that they belong to.
 *
 * A step of a task is reported as a call around those that it makes (ANNOT_CODE_TASK). A coroutine
 * that a task runs is, besides its pieces on the thread, a range on a separate track below the
 * task's: from its start to its end, with the times inside in which the task was suspended. Only
 * coroutines and steps pay for these reports.
 *
 * Threads: a task runs on one at a time. Functions do not raise. */
#ifndef PYANNOT_TRACING_TASKS_H
#define PYANNOT_TRACING_TASKS_H

#include "task.h"
#include "tracing_thread.h"

/* Sets the owner of the tasks, while calls of its interpreter are traced. */
void trace_tasks_setup(struct state *state);
/* Clears the owner if it is this state, which is about to be freed. */
void trace_tasks_left(const struct state *state);

/* Around a step. Returns true if it was reported; then its end must be, too. */
bool trace_step_begin(struct task_track *track);
void trace_step_end(void);

/* The calling thread runs another greenlet. */
void trace_greenlet_switched(void);
/* The program has greenlets: all threads check again. */
void trace_greenlets_known(void);

/* The task has ended: closes its open ranges. */
void trace_task_end(struct task_track *track);
/* Frees the data without events: tracing has ended, or this is a forked child. */
void trace_task_forget(struct task_track *track);

/* ---- For calls ------------------------------------------------------------------------------- */

enum trace_piece { TRACE_BEGINS, TRACE_RESUMES, TRACE_SUSPENDS, TRACE_ENDS };

/* Returns the innermost open range of the calling thread, or of the task that it runs; 0: no
 * range. */
annot_name trace_range_now(void);
/* Reports a piece of a coroutine that the calling thread runs, in a task or not. */
void trace_coroutine(const struct trace_code *code, enum trace_piece piece);
/* Reopens the thread's innermost step, around calls inside task_step_caller's frame. */
void trace_step_again(struct trace_thread *thread, uint32_t depth);
/* The thread, which has no open calls, enters the greenlet that it runs. */
void trace_greenlet_enter(struct trace_thread *thread);

/* Before 3.12: sets the frame of the next event, if it is a coroutine's. */
void trace_see_frame(const void *frame);

#endif
