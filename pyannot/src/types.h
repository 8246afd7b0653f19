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

/* domain, flow, track: the classes of these names; track_range: see track.c. */
PyTypeObject *domain_type_create(PyObject *module);
PyTypeObject *flow_type_create(PyObject *module);
PyTypeObject *track_type_create(PyObject *module);
PyTypeObject *track_range_type_create(PyObject *module);

/* free_range: a range of the process around one statement. */
PyTypeObject *free_range_type_create(PyObject *module);

/* What `async with` keeps of an open statement: see async_enter.c. */
PyTypeObject *link_type_create(PyObject *module);

/* What `async with` awaits: see async_enter.h. */
PyTypeObject *ready_type_create(PyObject *module);

/* annotation_holder: what pyannot.nvtx derives its annotate from. */
PyTypeObject *holder_type_create(PyObject *module);

#endif
