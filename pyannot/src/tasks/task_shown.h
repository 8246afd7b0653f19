/* SPDX-License-Identifier: MIT */
/* What samples know of the task that a thread runs: while a step of it lasts, the ranges that are
 * open on its track are shown with those of the thread (annot/tracks.h, "The track that a thread
 * runs"), inside of them. Steps that nobody tells of (the first one of an eager task, those of
 * uvloop) show nothing.
 *
 * Threads: a step is its thread's own. A range may end on another thread than the one that runs its
 * task; there it stays shown until the step is over. */
#ifndef ANNOT_TASK_SHOWN_H
#define ANNOT_TASK_SHOWN_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>

struct task_open;
struct task_track;
struct annot_event;

/* One turn of a loop that the thread is in; or a greenlet that it runs (greenlets.h). Not on the
 * stack of who runs it: that may be elsewhere while another greenlet runs. */
struct task_step {
    struct task_track *track; /* borrowed; NULL: no task's */
    uint32_t shown;           /* ranges that it shows */
    struct task_step *outer;
    PyObject *greenlet;     /* borrowed: which runs the loop; NULL: the only one */
    PyFrameObject *caller;  /* borrowed; NULL: calls inside are not told as its task's */
    struct task_step *next; /* of the turns of the thread, in whichever greenlet; latest first */
};

/* The innermost; NULL: none that was told of. */
extern _Thread_local struct task_step *task_step __attribute__((tls_model("initial-exec")));

/* The frame that has called the thread's innermost step, borrowed; NULL: it is in none. Calls
 * inside of it are that step's again. */
static inline PyFrameObject *task_step_caller(void)
{
    return task_step != NULL ? task_step->caller : NULL;
}

/* NULL: no memory, as if nobody had told of it. */
struct task_step *task_step_begin(struct task_track *track);
void task_step_end(struct task_step *step);

/* Of greenlets: which steps the thread is in; those that have none are this one's; the innermost
 * one of a greenlet, or NULL; all end (in a forked child). */
bool task_has_steps(void);
void task_steps_are_on(PyObject *greenlet);
struct task_step *task_step_on(PyObject *greenlet);
void task_steps_forget(void);

/* What the thread's steps show is hidden; from here on the thread is in that one and those around
 * it, and shows them. */
void task_steps_hide(void);
void task_steps_show(struct task_step *step);

/* A range of the track began, or its innermost one ended. */
void task_shown_begin(struct task_track *track, const struct annot_event *event);
void task_shown_end(struct task_track *track);

/* Forgets the ranges of the track: it begins anew, or is freed. */
void task_shown_clear(struct task_track *track);

/* What is open on the track, outermost first, at most `count`; returns how many. */
uint32_t task_open_names(struct task_track *track, struct task_open *names, uint32_t count);

#endif
