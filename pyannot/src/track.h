/* SPDX-License-Identifier: MIT */
/* The Python class `track`: a lane without a thread. Threads: any. */
#ifndef ANNOT_TRACK_H
#define ANNOT_TRACK_H

#include "scope.h"

/* The classes; track_range is a range on one. New references, or NULL with an exception. */
PyTypeObject *track_type_create(PyObject *module);
PyTypeObject *track_range_type_create(PyObject *module);

/* track(name, parent=None, *, id=None), with the domain of its events or NULL: see track.c. New
 * reference, or NULL with an exception. */
PyObject *track_create(PyTypeObject *type, PyObject *domain, PyObject *args, PyObject *keywords);

#endif
