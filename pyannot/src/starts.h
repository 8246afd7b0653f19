/* SPDX-License-Identifier: MIT */
/* Arrows to started processes: see starts.c. Functions of _native, for pyannot.observe. */
#ifndef ANNOT_STARTS_H
#define ANNOT_STARTS_H

#include "compat.h"

/* starts_watch(on) for forks, with the callbacks for os.register_at_fork; observe(function) and
 * leave(function) for functions that start programs; arrived() at the start of a program. */
PyObject *starts_watch(PyObject *module, PyObject *on);
PyObject *starts_before_fork(PyObject *module, PyObject *ignored);
PyObject *starts_after_fork_in_parent(PyObject *module, PyObject *ignored);
PyObject *starts_after_fork_in_child(PyObject *module, PyObject *ignored);
PyObject *starts_observe(PyObject *module, PyObject *function);
PyObject *starts_leave(PyObject *module, PyObject *function);
PyObject *starts_arrived(PyObject *module, PyObject *ignored);

#endif
