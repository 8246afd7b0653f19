/* SPDX-License-Identifier: MIT */
/* An annotation: what one event says, ready to be emitted. The Python class `annotate`.
 * Threads: constant after creation but for the cached name id, so that one object may serve any
 * number of threads, nested and recursive statements. */
#ifndef PYANNOT_ANNOTATION_H
#define PYANNOT_ANNOTATION_H

#include "bound_enter.h" /* Python.h comes before the system's headers */

#include <annot/annot.h>

struct state;
struct arguments;
struct items;

struct annotation {
    PyObject_HEAD PyObject *name; /* the str it was made from, whose identity is the key of the
                                     cache; NULL: a decorator will give it one */
    PyObject *text;               /* owner of event.text */
    PyObject *payload;            /* owner of a string payload; of a named copy, what it was copied
                                     from; or NULL */
    struct items *items;          /* owner of event.values, or NULL */
    PyObject *domain, *category;  /* str, or NULL: of the event's numbers, for pickling */
    struct annot_event event;
    bool plain; /* nothing but a name */
    struct enter enter;
};

/* The annotation that has only this name, from the cache or new. New reference; NULL with a
 * TypeError if `name` is not a str. */
struct annotation *annotation_of_name(struct state *state, PyObject *name);

/* The annotation that the arguments describe; `name` may be missing or None. New reference, or NULL
 * with an exception. */
struct annotation *annotation_create(struct state *state, const struct arguments *arguments);

/* The same under another name. New reference, or NULL with an exception. */
struct annotation *annotation_renamed(struct state *state, struct annotation *like, PyObject *name);

/* For a track, where a single payload is the item "value". 0, or -1 with an exception. */
int annotation_payload_to_items(struct annotation *annotation);

/* tp_dealloc of `annotate`, and nothing else's. */
void annotation_dealloc(PyObject *self);

static inline bool annotation_is(const PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == annotation_dealloc;
}

void annotation_name_missing(void);

/* False, with a TypeError, if only a decorator could give it a name. */
static inline bool annotation_has_name(const struct annotation *annotation)
{
    if (__builtin_expect(annotation->text != NULL, 1))
        return true;
    annotation_name_missing();
    return false;
}

/* Of a counter: whether there is a value, or a series. */
static inline bool annotation_says_something(const struct annotation *annotation)
{
    return annotation->event.payload_kind != ANNOT_PAYLOAD_NONE ||
           annotation->event.value_count != 0;
}

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
