/* SPDX-License-Identifier: MIT */
/* What one import of the module knows of asyncio (task.h). Threads: as struct state. */
#ifndef PYANNOT_TASK_STATE_H
#define PYANNOT_TASK_STATE_H

#include "compat.h" /* Python.h comes before the system's headers */

#include <stdbool.h>

struct task_exit;

enum { TASK_EXITS = 2 };

struct task_state {
    PyTypeObject *track_type;
    PyTypeObject *exit_type;
    PyObject *exits[TASK_EXITS]; /* annotate.__exit__ and __aexit__ while tasks are watched */
    PyObject *key;               /* of the track in the task's dictionary */
    PyObject *callback_name;     /* attributes of handles, callbacks and tasks */
    PyObject *self_name;
    PyObject *done_name;
    PyObject *types;            /* tuple of the types of tasks, or NULL */
    PyObject *get_running_loop; /* asyncio's own functions; NULL: not watching */
    PyObject *current_task;     /* a function, or (up to 3.11) the dict by loop */
    struct task_exit *spare;    /* memory of one freed object */
};

/* What asyncio is asked by, while other threads stop watching: a new reference, or NULL. */
static inline PyObject *task_part_take(PyObject *const *part)
{
    return Py_XNewRef(__atomic_load_n(part, __ATOMIC_ACQUIRE)); /* partner: task_part_set */
}

/* NULL: none from now on. Without the lock another thread may be about to take what is there, so
 * it stays for ever: a function of asyncio's, or a small tuple. */
static inline void task_part_set(PyObject **part, PyObject *object)
{
    PyObject *before = *part;
    __atomic_store_n(part, Py_XNewRef(object), __ATOMIC_RELEASE); /* partner: task_part_take */
    if (!PYANNOT_FREE_THREADED)
        Py_XDECREF(before);
}

/* A missing attribute is no exception: 1 found, 0 not, -1 with an exception. */
static inline int attribute_find(PyObject *object, PyObject *name, PyObject **ret_value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, ret_value);
#else
    return _PyObject_LookupAttr(object, name, ret_value);
#endif
}

#endif
