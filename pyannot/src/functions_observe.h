/* SPDX-License-Identifier: MIT */
/* The functions of _native that the parts of pyannot.observe use, and no program. */
#ifndef PYANNOT_FUNCTIONS_OBSERVE_H
#define PYANNOT_FUNCTIONS_OBSERVE_H

#include "compat.h"

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

#endif
