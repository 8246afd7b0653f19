/* SPDX-License-Identifier: MIT */
/* What the files of pyannot._reader share: its types and how plain data become Python objects.
 *
 * Thread-safety: an object that is in use by one thread refuses others with a RuntimeError; with
 * the interpreter's lock and without. Lifetimes are Python's. */
#ifndef PYANNOT_READER_READER_TYPES_H
#define PYANNOT_READER_READER_TYPES_H

#include "compat.h" /* Python.h comes before the system's headers */

#undef WAIT_LOCK /* of its threads; here it is something that threads wait for */

#include "rows.h"
#include "sample.h"

struct module_state {
    PyTypeObject *reader_type, *column_type;
};

/* Of the module that made the type of `self`; never NULL for this module's own types. */
struct module_state *module_state_of(PyObject *self);

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

/* ---- facts.c ---- */

/* Lists of tuples of what is defined before the first event. */

PyObject *facts_processes(struct text_cache *texts);
PyObject *facts_threads(struct text_cache *texts);
PyObject *facts_tracks(struct text_cache *texts);
PyObject *facts_session(struct text_cache *texts);
PyObject *facts_sample_sets(struct text_cache *texts);
PyObject *facts_file(const struct store_reader *reader);

/* What is asked of a report. */
struct report_wish {
    int grouping;       /* enum range_grouping */
    const char *inside; /* samples in ranges of that name, or NULL */
    const char *value;  /* of samples, of functions; or NULL: CPU time */
};

/* The tables of a report, by name: a dict for facts, else a list of dicts. Reads all of it. */
PyObject *report_object(struct store_reader *store, PyObject *path, const struct report_wish *wish);

/* ---- reader_module.c ---- */

/* A column takes over `items`, which malloc made, also when it fails. */
PyObject *column_create(struct module_state *state, char format, void *items, size_t count);

extern PyType_Spec reader_spec, column_spec;

/* OSError of `code`, a negative errno, about the file; MemoryError. Always NULL. */
PyObject *raise_code(int code, PyObject *path);

#endif
