/* SPDX-License-Identifier: MIT */
/* Turns of an event loop that take longer than a threshold. The loop's thread records the start of
 * a turn; a watchdog thread (observe/slow_turns.py) looks for long ones, takes the stack and stores
 * it here; when the turn ends, the loop's thread makes a mark of both.
 * Threads: slow_begin and slow_end by the loop's, the others by any. */
#ifndef ANNOT_TASK_STEP_H
#define ANNOT_TASK_STEP_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct slow_step;

/* A task that was suspended for as long as this makes a mark when it resumes. */
#define AWAITED_NS UINT64_C(1000000)

extern uint64_t slow_threshold_ns; /* 0: off */

struct slow_step *slow_begin_watched(void);
void slow_end_watched(struct slow_step *step, struct task_track *track, PyObject *handle);

/* In a forked child, where other threads do not exist: no turn is watched. */
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

/* Without a watchdog: makes a mark at the end of the turn. Samples and waits have the stack. */
extern uint64_t blocked_threshold_ns; /* 0: off */

void blocked_emit(uint64_t duration_ns, struct task_track *track, PyObject *handle);

static inline void blocked_end(uint64_t duration_ns, struct task_track *track, PyObject *handle)
{
    uint64_t threshold_ns = __atomic_load_n(&blocked_threshold_ns, __ATOMIC_RELAXED);
    if (__builtin_expect(threshold_ns && duration_ns >= threshold_ns, 0))
        blocked_emit(duration_ns, track, handle);
}

/* Returns the time of the start or end of a turn. For a task, which waits in between, by the exact
 * clock; else by the kernel's own, some milliseconds coarse, which costs less than a call. */
static inline uint64_t turn_now_ns(bool is_task)
{
    struct timespec now;
    clock_gettime(is_task ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Calls Handle._run, with the step around it. */
PyObject *observed_step(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);

/* Of _native, for pyannot.observe: see module.c. */
PyObject *tasks_slow_threshold(PyObject *module, PyObject *threshold);
PyObject *tasks_blocked_threshold(PyObject *module, PyObject *threshold);
PyObject *tasks_slow_turns(PyObject *module, PyObject *ignored);
PyObject *tasks_slow_endless(PyObject *module, PyObject *threshold);
PyObject *tasks_slow_stack(PyObject *module, PyObject *args);

#endif
