/* SPDX-License-Identifier: MIT */
/* The track of a task or greenlet, and its ranges. Threads: any. */
#ifndef ANNOT_TASK_TRACK_H
#define ANNOT_TASK_TRACK_H

#include "annotation.h"
#include "task.h"

#include <stdbool.h>

struct annot_event;
struct state;
struct task_track;

/* State of the range of the task's whole life. */
enum task_life { TASK_LIFE_NONE = 0, TASK_LIFE_OPEN, TASK_LIFE_ENDED };

/* Returns the track of a task, made if it has none. New reference; NULL without an exception. */
struct task_track *task_track_of(struct state *state, PyObject *task);

/* The same for a greenlet. The second one returns an existing track of this process only;
 * borrowed. */
struct task_track *task_track_of_greenlet(struct state *state, PyObject *greenlet);
struct task_track *task_track_kept(struct state *state, PyObject *greenlet);

/* Stores with a new task the ranges that are open where it is made: for its track, also before that
 * exists. Never raises. */
void task_keep_origin(struct state *state, PyObject *task, PyObject *origin);

/* The range of the task's life: begins it once, ends it when no other range is open. */
void task_life_begin(struct task_track *track);
void task_life_end(struct task_track *track);

/* Ranges on the track. Only while annot_enabled(). `exception`: its type, or NULL. */
void task_range_begin(struct task_track *track, struct annotation *annotation);
void task_range_end(struct task_track *track, PyObject *exception);

/* push(), pop() and mark(), if a task runs. False: the thread's own. */
bool task_push(struct state *state, struct annotation *annotation);
bool task_pop(struct state *state);
bool task_mark(struct state *state, struct annotation *annotation);

/* Events of domain "python", category "asyncio": of a task, of a long turn, of a wait. */
struct annot_event task_event(void);
struct annot_event blocked_event(void);
struct annot_event awaited_event(void);

/* In a forked child. */
void task_forked(void);

/* New reference; NULL with an exception. */
PyTypeObject *task_track_type_create(PyObject *module);

/* ---- Ranges around code of the program ------------------------------------------------------- */

/* A range that an observer opens around code of the program: an import, a task of a pool.
 *
 * Such code may switch to another greenlet before it returns. A greenlet other than the main one of
 * its thread therefore has the range on its track, or on that of the asyncio task that it runs for.
 * The main greenlet, and a program without greenlets, push it on the thread's stack. So does a task
 * of asyncio, which cannot be suspended inside of such a call.
 *
 * Threads: a range begins and ends in one greenlet. Functions do not raise, and preserve an
 * exception that is set. */

/* All zero: not open. */
struct context_range {
    struct task_track *track; /* owned; NULL: the thread's stack */
    uint32_t forks;           /* entered_forks at its start */
    bool is_open;
};

/* Both only while annot_enabled(), and not while it is open. The second one does not open it on the
 * thread's stack. */
void context_range_begin(struct state *state, struct context_range *range,
                         const struct annot_event *event);
void context_range_begin_on_track(struct state *state, struct context_range *range,
                                  const struct annot_event *event);

/* `exception`: its type, or NULL. No effect if the range is not open. */
void context_range_end(struct context_range *range, PyObject *exception);

#endif
