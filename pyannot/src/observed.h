/* SPDX-License-Identifier: MIT */
/* observed: stands in the place of a function of the standard library and calls it, with something
 * recorded before and after. It adds no frame of Python's, so tracebacks stay what they were; binds
 * as a method; and looks like the function (its file, signature, names, even the type), except for
 * type() and __wrapped__. While nobody records it only calls. Kind "instead" only looks like one
 * function and calls another.
 * Threads: constant after creation. */
#ifndef PYANNOT_OBSERVED_H
#define PYANNOT_OBSERVED_H

#include "compat.h"
#include "state.h"

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

#endif
