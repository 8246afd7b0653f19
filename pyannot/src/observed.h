/* SPDX-License-Identifier: MIT */
/* What pyannot.observe uses of _native. */
#ifndef PYANNOT_OBSERVED_H
#define PYANNOT_OBSERVED_H

#include "compat.h"
#include "state.h"

/* ---- observed -------------------------------------------------------------------------------- */

/* observed: stands in the place of a function of the standard library and calls it, with something
 * recorded before and after. It adds no frame of Python's, so tracebacks stay what they were; binds
 * as a method; and looks like the function (its file, signature, names, even the type), except for
 * type() and __wrapped__. While nobody records it only calls. Kind "instead" only looks like one
 * function and calls another.
 * Threads: constant after creation. */

struct observed {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *wrapped;
    PyObject *before; /* of kinds "call" and "instead": Python functions, or NULL */
    PyObject *after;
    PyObject *dict;
    PyObject *weak_references;
};

/* The call that each kind makes. */
PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);
PyObject *observed_step(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);
PyObject *observed_start(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);

PyTypeObject *observed_type_create(PyObject *module);

/* ---- Functions ------------------------------------------------------------------------------- */

/* For the parts of pyannot.observe, and no program. */

PyObject *tasks_watch(PyObject *module, PyObject *args);
PyObject *tasks_unwatch(PyObject *module, PyObject *ignored);
PyObject *tasks_types(PyObject *module, PyObject *args);
PyObject *tasks_libraries(PyObject *module, PyObject *folders);
PyObject *tasks_slow_threshold(PyObject *module, PyObject *threshold);
PyObject *tasks_blocked_threshold(PyObject *module, PyObject *threshold);
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
