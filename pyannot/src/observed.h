/* SPDX-License-Identifier: MIT */
/* What pyannot.observe uses of _native. */
#ifndef PYANNOT_OBSERVED_H
#define PYANNOT_OBSERVED_H

#include "compat.h"
#include "observed_callback.h"
#include "state.h"

#include <stdbool.h>

/* The call that each kind makes. */
PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);
PyTypeObject *observed_type_create(PyObject *module);

/* ---- Functions ------------------------------------------------------------------------------- */

/* For the parts of pyannot.observe, and no program. */

/* For gc.callbacks: collected(phase, info). */
PyObject *observe_collected(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Whether imports are ranges. */
PyObject *imports_watch(PyObject *module, PyObject *on);

/* Without an audit event: open_file(path, flags). */
PyObject *observe_open(PyObject *module, PyObject *args);

#endif
