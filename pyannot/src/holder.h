/* SPDX-License-Identifier: MIT */
/* annotation_holder: the base of classes in Python whose `with` statement costs what one of
 * `annotate` does. An object holds an annotation, which entering enters; one that holds none is
 * asked for it each time, by its method annotation_now(), which may give None for nothing.
 * Threads: constant after hold(). */
#ifndef PYANNOT_HOLDER_H
#define PYANNOT_HOLDER_H

#include "annotation.h"

struct state;

/* Enters what a holder holds. 0, or -1 with an exception and nothing entered. */
int holder_enter(struct state *state, PyObject *holder);

/* For the collector of the interpreter: the objects that quick calls give. */
int holder_traverse(struct state *state, visitproc visit, void *arg);
void holder_clear(struct state *state);

#endif
