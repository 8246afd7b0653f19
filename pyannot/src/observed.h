/* SPDX-License-Identifier: MIT */
/* Functions of _native for pyannot.observe. */
#ifndef PYANNOT_OBSERVED_H
#define PYANNOT_OBSERVED_H

#include "compat.h"
#include "observed_callback.h"
#include "state.h"

#include <stdbool.h>

/* The call of an observed import. */
PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);
PyTypeObject *observed_type_create(PyObject *module);

/* ---- Functions ------------------------------------------------------------------------------- */

/* For the parts of pyannot.observe only. */

/* For gc.callbacks: collected(phase, info). */
PyObject *observe_collected(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* imports_watch(on): records imports as ranges. */
PyObject *imports_watch(PyObject *module, PyObject *on);

/* open_file(path, flags): without an audit event. */
PyObject *observe_open(PyObject *module, PyObject *args);

#endif
