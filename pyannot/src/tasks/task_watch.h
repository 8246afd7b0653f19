/* SPDX-License-Identifier: MIT */
/* Watches tasks of asyncio and greenlets: while an interpreter watches, ranges that are opened in
 * them go to their tracks. Functions of _native that take (module, ...) are for pyannot.observe.
 *
 * Threads: any, with the GIL where there is one. */
#ifndef ANNOT_TASK_WATCH_H
#define ANNOT_TASK_WATCH_H

#include "compat.h"

#include <annot/annot.h>
#include <stdbool.h>

struct state;

PyObject *tasks_watch(PyObject *module, PyObject *args);
PyObject *tasks_unwatch(PyObject *module, PyObject *ignored);
PyObject *tasks_types(PyObject *module, PyObject *args);

/* Functions of _native: greenlets_known(getcurrent, settrace, gettrace), when the program has
 * imported greenlet, returns replacements of the last two; greenlets_ranges(on) sets whether ranges
 * go to tracks. */
PyObject *greenlets_known(PyObject *module, PyObject *args);
PyObject *greenlets_ranges(PyObject *module, PyObject *is_on);
/* The gate's generation at the last search for tasks that are not observed. */
extern uint64_t task_looked;

/* A program that was started without annot has tasks that are not observed. Once a recording meets
 * them, they are observed. Returns true if the calling thread runs a task that just began to be
 * observed: a range that is opened now would be the thread's, and is left out. Never raises. */
bool task_watch_late(PyTypeObject *type);

static inline bool task_is_late(PyTypeObject *type)
{
    uint64_t looked = __atomic_load_n(&task_looked, __ATOMIC_RELAXED);
    return __builtin_expect(annot_gate_v1.generation != looked, 0) && task_watch_late(type);
}

/* The interpreter has ended, with every object. */
void task_forget_all(void);

/* The module's part, from its start on; 0, or -1 with an exception. */
int task_install(PyObject *module);
void task_clear(struct state *state);
int task_traverse(struct state *state, visitproc visit, void *arg);

#endif
