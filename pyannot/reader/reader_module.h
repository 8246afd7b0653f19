/* SPDX-License-Identifier: MIT */
/* The module pyannot._reader: its types. Thread-safety: as of objects.h. */
#ifndef ANNOT_READER_MODULE_H
#define ANNOT_READER_MODULE_H

#include "compat.h"

#include <stddef.h>

struct module_state {
    PyTypeObject *reader_type, *column_type;
};

/* Returns the state of the module that made the type of `self`; never NULL for this module's own
 * types. */
struct module_state *module_state_of(PyObject *self);

/* Makes a column, which takes over `items`, which malloc made, also on failure. */
PyObject *column_create(struct module_state *state, char format, void *items, size_t count);

extern PyType_Spec reader_spec, column_spec;

#endif
