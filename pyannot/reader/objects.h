/* SPDX-License-Identifier: MIT */
/* How plain data of a recording become Python objects.
 *
 * Thread-safety: an object that is in use by one thread refuses others with a RuntimeError; with
 * the interpreter's lock and without. Lifetimes are Python's. */
#ifndef ANNOT_OBJECTS_H
#define ANNOT_OBJECTS_H

#include "compat.h" /* Python.h comes before the system's headers */

#undef WAIT_LOCK /* of its threads; here it is something that threads wait for */

#include "rows.h"
#include "sample.h"

/* Python's str of a recording's texts: each is made once. */
struct text_cache {
    PyObject **items; /* by ordinal */
    size_t count;
    const struct trace *trace;
};

/* A new reference, or NULL with an exception. `text_or_none`: None for ordinal 0. */
PyObject *text_get(struct text_cache *cache, uint32_t ordinal);
PyObject *text_or_none(struct text_cache *cache, uint32_t ordinal);
void text_cache_fini(struct text_cache *cache);

/* What rows are told with: lists of Python objects, by ordinal. */
struct row_context {
    struct text_cache *texts;
    PyObject *threads, *tracks; /* borrowed lists */
    int64_t begin_ns;
};

/* A tuple, as pyannot/_read.py names its fields; or NULL with an exception. */
PyObject *row_object(const struct row_context *context, const struct rows *rows,
                     const struct row *row);

/* The same for samples. `frames`: a dict, frame to its label, which is filled. */
PyObject *sample_object(const struct row_context *context, const struct sample *sample,
                        PyObject *frames);

/* What one of them has: the functions of a stack and the ranges of a path, outermost first; the
 * values of a set by name. Tuples, or a list of names; or NULL with an exception. */
PyObject *sample_stack(const struct trace *trace, uint32_t stack, PyObject *frames);
PyObject *sample_ranges(const struct row_context *context, uint32_t path);
PyObject *sample_value_name(const struct trace *trace, unsigned set, unsigned index);

#endif
