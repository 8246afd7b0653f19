/* SPDX-License-Identifier: MIT */
/* annotation_holder: the base of classes in Python whose `with` statement costs what one of
 * `annotate` does. An object holds an annotation, which entering enters; one that holds none is
 * asked for it each time, by its method annotation_now(), which may give None for nothing.
 * Threads: constant after hold(). */
#ifndef PYANNOT_HOLDER_H
#define PYANNOT_HOLDER_H

#include "annotation.h"

struct state;

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
