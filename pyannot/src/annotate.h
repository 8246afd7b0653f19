/* SPDX-License-Identifier: MIT */
/* annotate, the class, and annotation_holder, the base of pyannot.nvtx's annotate. Types are made
 * once per import. Threads: any. */
#ifndef ANNOT_ANNOTATE_H
#define ANNOT_ANNOTATE_H

#include "annotation.h"

struct annotation;
struct state;

/* annotate: context manager and decorator. New reference, or NULL with an exception. */
PyTypeObject *annotate_type_create(PyObject *module);

/* annotation_holder: base of pyannot.nvtx's annotate. New reference, or NULL with an exception. */
PyTypeObject *holder_type_create(PyObject *module);

/* annotation_holder: the base of Python classes with a `with` statement as cheap as that of
 * `annotate`. Entering the object enters the annotation that it holds; without one, its method
 * annotation_now() is called each time, which may return None to open no range.
 * Threads: constant after hold(). */
struct holder {
    PyObject_HEAD struct annotation *annotation; /* NULL: annotation_now() each time */
    bool keep; /* the constructor's arguments determine the object */
    struct enter enter;
};

/* True for objects of the class and of derived ones. */
bool holder_is(PyObject *object);

/* Enters the annotation of a holder. 0, or -1 with an exception, without entering. */
int holder_enter(PyObject *holder);

/* For the garbage collector: the objects kept for quick calls. */
int holder_traverse(struct state *state, visitproc visit, void *arg);
void holder_clear(struct state *state);

#endif
