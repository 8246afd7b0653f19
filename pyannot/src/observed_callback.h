/* SPDX-License-Identifier: MIT */
/* A function of the standard library with something recorded before and after: the call that the
 * program has made, and calls of pyannot's own Python functions inside of it. The program sees
 * neither their frames nor what they raise. Threads: any, with the GIL. */
#ifndef ANNOT_OBSERVED_CALLBACK_H
#define ANNOT_OBSERVED_CALLBACK_H

#include "compat.h"

#include <stdbool.h>
#include <stddef.h>

/* observed: stands in the place of a Python function and calls it, with something done before and
 * after. It adds no frame of Python's, so tracebacks stay what they were; binds as a method; and
 * looks like the function (its file, signature, names, even the type), except for type() and
 * __wrapped__. What it calls of pyannot neither raises into the program nor is traced there.
 * Threads: constant after creation. */
struct observed {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *wrapped;
    PyObject *before; /* a function or NULL; of "import" a dictionary */
    PyObject *after;
    PyObject *dict;
    PyObject *weak_references;
    bool binds; /* a method that is another tool's wrapper, which looks at self */
};

/* The call that the program has made. */
PyObject *observed_wrapped(const struct observed *observed, PyObject *const *args, size_t flags,
                           PyObject *names);

struct callback_arguments {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *names;
};

/* Whatever is set stays set. Returns whether something is set now that must reach the program: what
 * a signal handler of the program's raised meanwhile. *ret_result may be NULL. */
bool callback_run(PyObject *function, const struct callback_arguments *call, PyObject **ret_result);

#endif
