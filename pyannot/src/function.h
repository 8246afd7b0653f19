/* SPDX-License-Identifier: MIT */
/* Decorators: which wrapper a function needs is decided in Python (_decorators.py). Threads: any.
 */
#ifndef PYANNOT_FUNCTION_H
#define PYANNOT_FUNCTION_H

#include "compat.h" /* Python.h comes before the system's headers */

#include <stdbool.h>

/* Whether @annotate stands right above it: a function, or what becomes a method. */
bool decorate_takes(PyObject *object);

/* The annotated form of a function. New reference, or NULL with an exception. */
PyObject *decorate(PyObject *annotation, PyObject *function);

/* annotation(function): tp_call of annotations. */
PyObject *decorate_call(PyObject *annotation, PyObject *args, PyObject *keywords);

/* annotated_function: what a decorated plain function becomes. New reference, or NULL with an
 * exception; the same: */
PyTypeObject *function_type_create(PyObject *module);

/* free_range: a range of the process around one statement. */
PyTypeObject *free_range_type_create(PyObject *module);

#endif
