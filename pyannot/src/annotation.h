/* SPDX-License-Identifier: MIT */
/* An annotation: what one event says, ready to be emitted. The Python class `annotate`.
 * Threads: constant after creation but for the cached name id, so that one object may serve any
 * number of threads, nested and recursive statements. */
#ifndef PYANNOT_ANNOTATION_H
#define PYANNOT_ANNOTATION_H

#include <stdbool.h>

#include <annot/annot.h>

#include "compat.h"

struct state;

struct annotation {
    PyObject_HEAD PyObject *name; /* the str it was made from; its identity is the cache's key */
    PyObject *text;               /* owner of event.text */
    PyObject *payload;            /* owner of a string payload, or NULL */
    struct annot_event event;
    bool plain; /* nothing but a name */
};

/* The annotation that has only this name, from the cache or new. New reference; NULL with a
 * TypeError if `name` is not a str. */
struct annotation *annotation_of_name(struct state *state, PyObject *name);

/* The annotation that `values` describe (NULL = not given). New reference, or NULL with an
 * exception. */
struct annotation *annotation_create(struct state *state, PyObject *const *values);

void annotation_destroy(struct annotation *annotation);

/* The id of its name, interned at the first event; 0 if the table of names is full. */
static inline annot_name annotation_name_id(struct annotation *annotation)
{
    /* Relaxed: the id is the same whichever thread stores it. */
    annot_name id = __atomic_load_n(&annotation->event.name, __ATOMIC_RELAXED);
    if (__builtin_expect(id == 0, 0)) {
        id = annot_name_intern(annotation->event.text);
        __atomic_store_n(&annotation->event.name, id, __ATOMIC_RELAXED);
    }
    return id;
}

#endif
