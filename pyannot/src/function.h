/* SPDX-License-Identifier: MIT */
/* Decorators: Python code (_decorators.py) decides which wrapper a function needs. Threads: any. */
#ifndef PYANNOT_FUNCTION_H
#define PYANNOT_FUNCTION_H

#include "compat.h" /* Python.h comes before the system's headers */

#include <stdbool.h>

/* True if annotate(object) is a bare @annotate: on a function, or on an object that becomes a
 * method. */
bool decorate_takes(PyObject *object);

/* Returns the annotated form of a function. New reference, or NULL with an exception. */
PyObject *decorate(PyObject *annotation, PyObject *function);

/* annotation(function): tp_call of annotations. */
PyObject *decorate_call(PyObject *annotation, PyObject *args, PyObject *keywords);

/* annotated_function: the wrapper of a decorated plain function. New reference, or NULL with an
 * exception. */
PyTypeObject *function_type_create(PyObject *module);

/* free_range: a range of the process around one statement. New reference, or NULL with an
 * exception. */
PyTypeObject *free_range_type_create(PyObject *module);

#endif
