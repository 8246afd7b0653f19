/* SPDX-License-Identifier: MIT */
/* From Python's numbers and texts to values of libannot: payloads, key-values, series of counters.
 * What is none of these is the caller's error and raises a TypeError that names the type, never the
 * value. Numbers of any size and text of any kind are taken. Threads: any. */
#ifndef PYANNOT_ITEMS_H
#define PYANNOT_ITEMS_H

#include "arguments.h" /* Python.h comes before the system's headers */

#include <stdbool.h>

#include <annot/annot.h>

/* Fills kind and value. 1: done; 0: of another type, nothing raised; -1 with an exception of the
 * object's own. *ret_owner keeps a string alive (new reference), or is NULL. */
int value_of(PyObject *object, struct annot_value *ret_value, PyObject **ret_owner);

/* Several key-values, with all that keeps them alive. */
struct items {
    Py_ssize_t count;
    PyObject **owners; /* 2 * count: of keys and of values; NULL = none */
    struct annot_value values[];
};

/* What items are called in messages, and whether they must be numbers. */
struct item_kind {
    const char *message; /* has %.200U for the key and %.100s for the type */
    bool numbers;
};

extern const struct item_kind item_of_payload, item_of_counter;

/* The entries of `dict` (NULL = none) and the keywords of a call that are items. NULL with an
 * exception. */
struct items *items_create(const struct item_kind *kind, PyObject *dict,
                           const struct arguments *arguments);
/* The same and one more, under a key that outlives them; takes over `items` (NULL = none) and
 * `owner`, or neither: NULL with an exception. */
struct items *items_with(struct items *items, const char *key, const struct annot_value *value,
                         PyObject *owner);
void items_destroy(struct items *items);

#endif
