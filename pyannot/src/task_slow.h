/* SPDX-License-Identifier: MIT */
/* Turns of an event loop that take longer than a threshold. The loop's thread says when a turn
 * begins; a watchdog's thread (observe/slow.py) looks for those that are long, takes the stack and
 * leaves it here; when the turn ends, the loop's thread makes a mark of both.
 * Threads: slow_begin and slow_end by the loop's, the others by any. */
#ifndef PYANNOT_TASK_SLOW_H
#define PYANNOT_TASK_SLOW_H

#include "task.h"

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

#endif
