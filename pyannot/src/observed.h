/* SPDX-License-Identifier: MIT */
/* Functions of the standard library with something recorded before and after: the program's own
 * call, and calls of pyannot's Python functions around it. The program sees neither their frames
 * nor their exceptions. Threads: any, with the GIL. */
#ifndef PYANNOT_OBSERVED_H
#define PYANNOT_OBSERVED_H

#include "compat.h"
#include "state.h"

#include <stdbool.h>
#include <stddef.h>

/* observed: replaces a Python function and calls it, with actions before and after. It adds no
 * Python frame, so tracebacks are unchanged; binds as a method; and looks like the function (its
 * file, signature, names, even the type), except for type() and __wrapped__. The functions of
 * pyannot that it calls neither raise into the program nor are traced there.
 * Threads: constant after creation. */
struct observed {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *wrapped;
    PyObject *before; /* a function or NULL; for "import" a dictionary */
    PyObject *after;
    PyObject *dict;
    PyObject *weak_references;
    bool binds; /* a method wrapped by another tool, which looks at self */
};

/* Makes the call of the program. */
PyObject *observed_wrapped(const struct observed *observed, PyObject *const *args, size_t flags,
                           PyObject *names);

struct callback_arguments {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *names;
};

/* Preserves an exception that is set. Returns true if one is set now that must reach the program: a
 * signal handler of the program raised it meanwhile. *ret_result may be NULL. */
bool callback_run(PyObject *function, const struct callback_arguments *call, PyObject **ret_result);

/* New reference; NULL with an exception. */
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
