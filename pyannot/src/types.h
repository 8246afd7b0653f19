/* SPDX-License-Identifier: MIT */
/* The module's types, made once per import. Each returns a new reference, or NULL with an
 * exception. */
#ifndef PYANNOT_TYPES_H
#define PYANNOT_TYPES_H

#include "compat.h"

/* annotate: context manager and decorator. */
PyTypeObject *annotate_type_create(PyObject *module);

/* annotated_function: what a decorated plain function becomes. */
PyTypeObject *function_type_create(PyObject *module);

#endif
