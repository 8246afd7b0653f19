/* SPDX-License-Identifier: MIT */
/* Converts plain data of a recording to Python objects.
 *
 * Thread-safety: an object that is in use by one thread refuses others with a RuntimeError; with
 * the interpreter's lock and without. Lifetimes are Python's. */
#ifndef ANNOT_OBJECTS_H
#define ANNOT_OBJECTS_H

#include "compat.h" /* Python.h comes before the system's headers */

#undef WAIT_LOCK /* of Python's threads; here it is a reason of a wait */

#include "rows.h"
#include "sample.h"

/* Python's str for texts of a recording: each is made once. */
struct text_cache {
    PyObject **items; /* by ordinal */
    size_t count;
    const struct trace *trace;
};

/* A new reference, or NULL with an exception. `text_or_none`: Py_None for ordinal 0. */
PyObject *text_get(struct text_cache *cache, uint32_t ordinal);
PyObject *text_or_none(struct text_cache *cache, uint32_t ordinal);
void text_cache_fini(struct text_cache *cache);

/* Context for rows: lists of Python objects, by ordinal. */
struct row_context {
    struct text_cache *texts;
    PyObject *threads, *tracks; /* borrowed lists */
    int64_t begin_ns;
};

/* Returns a tuple with the fields of pyannot/_read.py; or NULL with an exception. */
PyObject *row_object(const struct row_context *context, const struct rows *rows,
                     const struct row *row);

/* The same for samples. `frames`: a dict from frame to label, which is filled. */
PyObject *sample_object(const struct row_context *context, const struct sample *sample,
                        PyObject *frames);

/* Parts of samples: the functions of a stack and the ranges of a path as tuples, outermost first;
 * the name of a value of a set. NULL with an exception. */
PyObject *sample_stack(const struct trace *trace, uint32_t stack, PyObject *frames);
PyObject *sample_ranges(const struct row_context *context, uint32_t path);
PyObject *sample_value_name(const struct trace *trace, unsigned set, unsigned index);

#endif
