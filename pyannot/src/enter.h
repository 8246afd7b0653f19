/* SPDX-License-Identifier: MIT */
/* Entering an annotation by `with` and by `async with`.
 * Threads: any, as for annotations. */
#ifndef PYANNOT_ENTER_H
#define PYANNOT_ENTER_H

#include "annotation.h"
#include "entered.h"
#include "state.h"
#include "task.h"
#include "task_exit.h"
#include "task_watch.h"

/* ---- with ------------------------------------------------------------------------------------ */

/* Uses the cheapest __enter__ and __exit__ of this interpreter. */

static inline void annotation_enter(struct annotation *annotation)
{
    if (task_is_watched() && task_enter(annotation))
        return;
    bool on = annot_enabled() && !task_is_late(Py_TYPE(annotation));
    entered_push(on);
    if (on)
        emit_push(annotation);
}

/* Gives the class, `annotate` or that of holders, an __enter__ that binds cheaply, where an
 * ordinary method does not. 0, or -1 with an exception. */
int enter_install(PyObject *module, PyTypeObject *type, bool is_holder);

/* Gives the class `annotate` its __exit__. 0, or -1 with an exception. */
int leave_install(PyObject *module, PyTypeObject *annotate_type);

/* ---- async with ------------------------------------------------------------------------------ */

/* `async with annotate("load"):`. Code that awaits inside gives up its thread, so this is a range
 * of the process, not of the thread. One annotation serves any number of tasks at once: a context
 * variable, with a value for each task, keeps the range that a statement opened. */

/* Makes the context variable. 0, or -1 with an exception. */
int async_enter_install(struct state *state);

/* Opens a range. 0, or -1 with an exception and no range. */
int async_enter(struct state *state, struct annotation *annotation);

/* Returns the range that this statement opened; 0 if it opened none, without a recording. 0, or -1
 * with an exception. */
int async_leave(struct state *state, struct annotation *annotation, annot_range *ret_range);

/* __aenter__ and __aexit__ return an awaitable that has its result already, so that `async with`
 * does not yield to the loop. Threads: any. */

/* Takes over `value`. New reference, or NULL with an exception. */
PyObject *ready_create(struct state *state, PyObject *value);

/* The type of open `async with` statements: see enter.c. New reference, or NULL with an
 * exception. */
PyTypeObject *link_type_create(PyObject *module);

/* The type of the awaitable. New reference, or NULL with an exception. */
PyTypeObject *ready_type_create(PyObject *module);

#endif
