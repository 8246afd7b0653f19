/* SPDX-License-Identifier: MIT */
/* annotate, the class, and annotation_holder, which pyannot.nvtx derives its own from. Types are
 * made once per import. Threads: any. */
#ifndef ANNOT_ANNOTATE_H
#define ANNOT_ANNOTATE_H

#include "annotation.h"

struct annotation;
struct state;

/* annotate: context manager and decorator. New reference, or NULL with an exception; the same: */
PyTypeObject *annotate_type_create(PyObject *module);

/* annotation_holder: what pyannot.nvtx derives its annotate from. */
PyTypeObject *holder_type_create(PyObject *module);

/* annotation_holder: the base of classes in Python whose `with` statement costs what one of
 * `annotate` does. An object holds an annotation, which entering enters; one that holds none is
 * asked for it each time, by its method annotation_now(), which may give None for nothing.
 * Threads: constant after hold(). */
struct holder {
    PyObject_HEAD struct annotation *annotation; /* NULL: asked for each time */
    bool keep; /* what the object is, its constructor's arguments say */
    struct enter enter;
};

/* Whether it is one, of whatever class. */
bool holder_is(PyObject *object);

/* Enters what a holder holds. 0, or -1 with an exception and nothing entered. */
int holder_enter(PyObject *holder);

/* For the collector of the interpreter: the objects that quick calls give. */
int holder_traverse(struct state *state, visitproc visit, void *arg);
void holder_clear(struct state *state);

#endif
