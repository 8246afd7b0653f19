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
#include "tracing_thread.h"

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

/* ---- For calls --------------------------------------------------------------------------------
 */

enum trace_piece { TRACE_BEGINS, TRACE_RESUMES, TRACE_SUSPENDS, TRACE_ENDS };

/* The innermost range that the calling thread, or the task that it runs, has open; 0: none. */
annot_name trace_range_now(void);
/* Of a coroutine that the calling thread runs, in a task or not. */
void trace_coroutine(const struct trace_code *code, enum trace_piece piece);
/* Calls inside of task_step_caller's frame are the thread's innermost step's again. */
void trace_step_again(struct trace_thread *thread, uint32_t depth);
/* The thread, which is in no call, is in the greenlet that it runs. */
void trace_greenlet_enter(struct trace_thread *thread);

/* Before 3.12: the frame that the next one of these is about, if it is a coroutine's. */
void trace_see_frame(const void *frame);

#endif
