/* SPDX-License-Identifier: MIT */
/* What samples know of the task that a thread runs: while a step of it lasts, the ranges that are
 * open on its track are shown with those of the thread (annot/tracks.h, "The track that a thread
 * runs"), inside of them. Steps that nobody tells of (the first one of an eager task, those of
 * uvloop) show nothing.
 *
 * Threads: a step is its thread's own. A range may end on another thread than the one that runs its
 * task; there it stays shown until the step is over. */
#ifndef PYANNOT_TASK_SHOWN_H
#define PYANNOT_TASK_SHOWN_H

#include "task.h"

/* One turn of a loop that the thread is in. On the stack of who runs it. */
struct task_step {
    struct task_track *track; /* borrowed; NULL: no task's */
    uint32_t shown;           /* ranges that it shows */
    struct task_step *outer;
};

/* The innermost; NULL: none that was told of. */
extern _Thread_local struct task_step *task_step __attribute__((tls_model("initial-exec")));

void task_step_begin(struct task_step *step, struct task_track *track);
void task_step_end(struct task_step *step);

/* A range of the track began, or its innermost one ended. */
void task_shown_begin(struct task_track *track, const struct annot_event *event);
void task_shown_end(struct task_track *track);

/* Forgets the ranges of the track: it begins anew, or is freed. */
void task_shown_clear(struct task_track *track);

#endif
