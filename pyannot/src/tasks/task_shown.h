/* SPDX-License-Identifier: MIT */
/* Ranges of a task that samples show: while a thread runs a step of the task, the ranges that are
 * open on its track are shown with those of the thread (annot/tracks.h, "The track that a thread
 * runs"), inside of them. Unreported steps (the first one of an eager task, those of uvloop) show
 * no ranges.
 *
 * Threads: a step is its thread's own. A range may end on another thread than the one that runs its
 * task; there it stays shown until the step ends. */
#ifndef ANNOT_TASK_SHOWN_H
#define ANNOT_TASK_SHOWN_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>

struct task_open;
struct task_track;
struct annot_event;

/* One turn of a loop that the thread runs; or a greenlet (greenlets.h). Not on the C stack of its
 * caller, which may be elsewhere while another greenlet runs. */
struct task_step {
    struct task_track *track; /* borrowed; NULL: no task's */
    uint32_t shown;           /* ranges that it shows */
    struct task_step *outer;
    PyObject *greenlet;     /* borrowed: the one that runs the loop; NULL: the only one */
    PyFrameObject *caller;  /* borrowed; NULL: calls inside are not reported as its task's */
    struct task_step *next; /* of the thread's turns, in any greenlet; latest first */
};

/* The innermost; NULL: no reported step. */
extern _Thread_local struct task_step *task_step __attribute__((tls_model("initial-exec")));

/* The frame that has called the thread's innermost step, borrowed; NULL: no step. Calls inside of
 * it belong to that step again. */
static inline PyFrameObject *task_step_caller(void)
{
    return task_step != NULL ? task_step->caller : NULL;
}

/* NULL: no memory, the step is unreported. */
struct task_step *task_step_begin(struct task_track *track);
void task_step_end(struct task_step *step);

/* For greenlets. Returns true if the thread is in a step; gives steps without a greenlet to this
 * one; returns the innermost step of a greenlet, or NULL; drops all (in a forked child). */
bool task_has_steps(void);
void task_steps_are_on(PyObject *greenlet);
struct task_step *task_step_on(PyObject *greenlet);
void task_steps_forget(void);

/* Hides the ranges of the thread's steps; makes this step the innermost, and shows its ranges and
 * those of the steps around it. */
void task_steps_hide(void);
void task_steps_show(struct task_step *step);

/* A range of the track began, or its innermost one ended. */
void task_shown_begin(struct task_track *track, const struct annot_event *event);
void task_shown_end(struct task_track *track);

/* Forgets the ranges of the track, which begins anew, or is freed. */
void task_shown_clear(struct task_track *track);

/* Writes the open ranges of the track, outermost first, at most `count`; returns their number. */
uint32_t task_open_names(struct task_track *track, struct task_open *names, uint32_t count);

#endif
