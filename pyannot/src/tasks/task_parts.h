/* SPDX-License-Identifier: MIT */
/* Inside of tasks: what the files task_*.c tell each other. */
#ifndef PYANNOT_TASK_PARTS_H
#define PYANNOT_TASK_PARTS_H

#include "task.h"

#include <time.h>

/* ---- What samples know of a task (task_shown.c) ---------------------------------------------- */

/* What samples know of the task that a thread runs: while a step of it lasts, the ranges that are
 * open on its track are shown with those of the thread (annot/tracks.h, "The track that a thread
 * runs"), inside of them. Steps that nobody tells of (the first one of an eager task, those of
 * uvloop) show nothing.
 *
 * Threads: a step is its thread's own. A range may end on another thread than the one that runs its
 * task; there it stays shown until the step is over. */

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

/* ---- Where tasks await (task_await.c) -------------------------------------------------------- */

/* A task that was suspended for as long as this is told when it goes on. */
#define AWAITED_NS UINT64_C(1000000)

/* Raised whenever an interpreter ceases to watch: steps may have been missed since. */
extern uint32_t task_unwatched;

/* The mark. False: the task does not go on, its handle does something else. Never raises. */
bool awaited_tell(struct state *state, const struct task_track *track, PyObject *task,
                  uint64_t duration_ns);

int task_await_install(struct task_state *tasks);
void task_await_clear(struct task_state *tasks);

/* ---- Slow turns (task_step.c) ---------------------------------------------------------------- */

/* Turns of an event loop that take longer than a threshold. The loop's thread says when a turn
 * begins; a watchdog's thread (observe/slow.py) looks for those that are long, takes the stack and
 * leaves it here; when the turn ends, the loop's thread makes a mark of both.
 * Threads: slow_begin and slow_end by the loop's, the others by any. */

struct slow_step;

extern uint64_t slow_threshold_ns; /* 0: nobody asked */

struct slow_step *slow_begin_watched(void);
void slow_end_watched(struct slow_step *step, struct task_track *track, PyObject *handle);

/* In a forked child, whose other threads are gone: nothing is watched. */
void slow_forked(void);

/* NULL: not watched. */
static inline struct slow_step *slow_begin(void)
{
    if (__builtin_expect(__atomic_load_n(&slow_threshold_ns, __ATOMIC_RELAXED) == 0, 1))
        return NULL;
    return slow_begin_watched();
}

static inline void slow_end(struct slow_step *step, struct task_track *track, PyObject *handle)
{
    if (__builtin_expect(step != NULL, 0))
        slow_end_watched(step, track, handle);
}

/* Without a watchdog: a mark at the end of the turn. Samples and waits have the stack. */
extern uint64_t blocked_threshold_ns; /* 0: none is told */

void blocked_tell(uint64_t duration_ns, struct task_track *track, PyObject *handle);

static inline void blocked_end(uint64_t duration_ns, struct task_track *track, PyObject *handle)
{
    uint64_t threshold_ns = __atomic_load_n(&blocked_threshold_ns, __ATOMIC_RELAXED);
    if (__builtin_expect(threshold_ns && duration_ns >= threshold_ns, 0))
        blocked_tell(duration_ns, track, handle);
}

/* When a turn begins and ends. For a task, which waits in between, by the exact clock; else by the
 * kernel's own, some milliseconds coarse, which costs less than a call. */
static inline uint64_t turn_now_ns(bool is_task)
{
    struct timespec now;
    clock_gettime(is_task ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
