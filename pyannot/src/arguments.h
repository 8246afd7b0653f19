/* SPDX-License-Identifier: MIT */
/* Converts Python's arguments, texts and numbers for libannot. */
#ifndef PYANNOT_ARGUMENTS_H
#define PYANNOT_ARGUMENTS_H

#include "compat.h"
#include "state.h"

#include <annot/annot.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Texts for libannot. Threads: any, attached to the interpreter. */

/* Returns the text of a str as UTF-8 without NUL: characters without a UTF-8 form (lone surrogates,
 * as in undecodable file names) are escaped, a NUL becomes a blank. *ret_owner (new reference)
 * keeps it alive. NULL: out of memory, with the exception. */
const char *text_of(PyObject *string, PyObject **ret_owner);

/* Raises "ARGUMENT must be WANTED, not TYPE". Always -1. */
int text_type_error(const char *argument, const char *wanted, PyObject *value);

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Numbers of flows and tracks in Python, and pickling of such objects. Threads: any. */

/* Converts an int from 0 to 2^64 - 1. 0, or -1 with an exception that names the argument. */
int number_uint64(const char *argument, PyObject *value, uint64_t *ret_number);

/* Returns the value of __reduce__ for an object that TYPE(**keywords) makes again. Takes over
 * `arguments`, which is (TYPE, (), keywords); NULL is passed on. */
PyObject *number_reduce(PyObject *arguments);

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Sorts the arguments of a call that describes an event into one array.
 * Threads: pure functions. */

/* The form of a call: the first `positional` arguments may be given without their names. */
struct signature {
    const char *function;
    enum argument positional[2];
    Py_ssize_t positional_count;
    Py_ssize_t required_count; /* of the positional ones */
    bool is_counter;           /* has a value; other calls have a payload, and items */
    const char *hint;          /* advice if one is missing, or NULL */
};

/* The arguments of a vectorcall. */
struct call {
    PyObject *const *args;
    Py_ssize_t count; /* of positional ones; those of `names` follow */
    PyObject *names;  /* tuple or NULL */
};

/* Borrowed from the call, as long as it lasts. */
struct arguments {
    PyObject *values[ARGUMENT_COUNT]; /* NULL: not given */
    const struct state *state;
    const struct call *call;
    Py_ssize_t item_count;   /* other keywords: items of the payload */
    uint16_t observer, role; /* of the called domain; 0: the program */
};

/* `domain`: that of the called object, or NULL. 0, or -1 with a TypeError. */
int arguments_parse(struct arguments *arguments, const struct state *state,
                    const struct signature *signature, const struct call *call, PyObject *domain);

/* Steps through the items from *at = 0 on; false at their end. */
bool arguments_next_item(const struct arguments *arguments, Py_ssize_t *at, PyObject **ret_key,
                         PyObject **ret_value);

static inline Py_ssize_t call_length(const struct call *call)
{
    return call->count + (call->names ? PyTuple_GET_SIZE(call->names) : 0);
}

/* True for a short call: with its positional arguments only. */
static inline bool call_is_short(const struct call *call, Py_ssize_t positional_count)
{
    return call->count == positional_count && call->names == NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Converts Python's numbers and texts to values of libannot: payloads, key-values, series of
 * counters. Other types are the caller's error and raise a TypeError that names the type, never the
 * value. Numbers of any size and text of any kind are accepted. Threads: any. */

/* Fills kind and value. 1: done; 0: another type, without an exception; -1 with an exception of the
 * object. *ret_owner keeps a string alive (new reference), or is NULL. */
int value_of(PyObject *object, struct annot_value *ret_value, PyObject **ret_owner);

/* Several key-values, with the owners of their memory. */
struct items {
    Py_ssize_t count;
    PyObject **owners; /* 2 * count: of keys and of values; may be NULL */
    struct annot_value values[];
};

/* The name of items in messages, and whether they must be numbers. */
struct item_kind {
    const char *message; /* with %.200U for the key and %.100s for the type */
    bool numbers;
};

extern const struct item_kind item_of_payload, item_of_counter;

/* Converts the entries of `dict` (or NULL) and the keywords of a call that are items. NULL with an
 * exception. */
struct items *items_create(const struct item_kind *kind, PyObject *dict,
                           const struct arguments *arguments);
/* Adds one more, under a key that outlives them; takes over `items` (or NULL) and `owner`, except
 * on failure: NULL with an exception. */
struct items *items_with(struct items *items, const char *key, const struct annot_value *value,
                         PyObject *owner);
void items_destroy(struct items *items);

#endif
