/* SPDX-License-Identifier: MIT */
/* The Python class `flow`: arrows between threads and processes. Threads: any. */
#ifndef ANNOT_FLOW_H
#define ANNOT_FLOW_H

#include "compat.h"

/* New reference, or NULL with an exception. */
PyTypeObject *flow_type_create(PyObject *module);

#endif
