/* SPDX-License-Identifier: MIT */
/* The table of the module's functions, ended by NULL. */
#ifndef PYANNOT_FUNCTIONS_H
#define PYANNOT_FUNCTIONS_H

#include "compat.h"

extern PyMethodDef functions_table[];

/* ---- Of pyannot.observe ---------------------------------------------------------------------- */

/* The functions of _native that the parts of pyannot.observe use, and no program. */

/* Adds them and their types; 0, or -1 with an exception. */
int observe_functions_add(PyObject *module);

PyObject *tasks_watch(PyObject *module, PyObject *args);
PyObject *tasks_unwatch(PyObject *module, PyObject *ignored);
PyObject *tasks_types(PyObject *module, PyObject *args);
PyObject *tasks_slow_threshold(PyObject *module, PyObject *threshold);
PyObject *tasks_slow_turns(PyObject *module, PyObject *ignored);
PyObject *tasks_slow_endless(PyObject *module, PyObject *threshold);
PyObject *tasks_slow_stack(PyObject *module, PyObject *args);

/* For gc.callbacks: collected(phase, info). */
PyObject *observe_collected(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Arrows to processes that are started: starts_watch(on) for forks, with the callbacks
 * for os.register_at_fork; arrived() at the start of a program. */
PyObject *starts_watch(PyObject *module, PyObject *on);
PyObject *starts_before_fork(PyObject *module, PyObject *ignored);
PyObject *starts_after_fork_in_parent(PyObject *module, PyObject *ignored);
PyObject *starts_after_fork_in_child(PyObject *module, PyObject *ignored);
PyObject *starts_arrived(PyObject *module, PyObject *ignored);

#endif
