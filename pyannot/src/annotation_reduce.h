/* SPDX-License-Identifier: MIT */
/* How annotations are pickled and copied. Threads: any. */
#ifndef PYANNOT_ANNOTATION_REDUCE_H
#define PYANNOT_ANNOTATION_REDUCE_H

#include "annotation.h"

/* For __reduce__: `maker` called with the annotation's name and all else that it says. New
 * reference, or NULL with an exception. */
PyObject *annotation_reduce(PyObject *maker, const struct annotation *annotation);

#endif
