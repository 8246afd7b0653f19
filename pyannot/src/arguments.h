/* SPDX-License-Identifier: MIT */
/* Python's arguments, texts and numbers as libannot takes them. */
#ifndef PYANNOT_ARGUMENTS_H
#define PYANNOT_ARGUMENTS_H

#include "compat.h"
#include "state.h"

#include <annot/annot.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Python's text as libannot takes it. Threads: any, attached to the interpreter. */

/* The text of a str as UTF-8 without NUL: what has no UTF-8 form (lone surrogates, as in file names
 * that are none) is escaped, a NUL becomes a blank. *ret_owner (new reference) keeps it alive.
 * NULL: out of memory, with the exception. */
const char *text_of(PyObject *string, PyObject **ret_owner);

/* Raises "ARGUMENT must be WANTED, not TYPE". Always -1. */
int text_type_error(const char *argument, const char *wanted, PyObject *value);

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Numbers of flows and tracks in Python, and how such objects travel. Threads: any. */

/* An int from 0 to 2^64 - 1. 0, or -1 with an exception that names the argument. */
int number_uint64(const char *argument, PyObject *value, uint64_t *ret_number);

/* What __reduce__ returns for an object that TYPE(**keywords) makes again, given (TYPE, (),
 * keywords), which it takes over; NULL is passed on. */
PyObject *number_reduce(PyObject *arguments);

/* ---- Arguments ------------------------------------------------------------------------------- */

/* The arguments of a call that describes an event, sorted into one array.
 * Threads: pure functions. */

/* What a call looks like: the first `positional` arguments may be given without their names. */
struct signature {
    const char *function;
    enum argument positional[2];
    Py_ssize_t positional_count;
    Py_ssize_t required_count; /* of these */
    bool is_counter;           /* has a value; other calls have a payload, and items */
    const char *hint;          /* what else to do if one is missing; NULL = none */
};

/* The arguments of a vectorcall. */
struct call {
    PyObject *const *args;
    Py_ssize_t count; /* positional ones; those of `names` follow */
    PyObject *names;  /* tuple or NULL */
};

/* Borrowed from the call, as long as it lasts. */
struct arguments {
    PyObject *values[ARGUMENT_COUNT]; /* NULL: not given */
    const struct state *state;
    const struct call *call;
    Py_ssize_t item_count;   /* keywords that are none of these: items of the payload */
    uint16_t observer, role; /* of the domain that was called; 0: the program */
};

/* `domain`: of the object that was called, or NULL. 0, or -1 with a TypeError. */
int arguments_parse(struct arguments *arguments, const struct state *state,
                    const struct signature *signature, const struct call *call, PyObject *domain);

/* Steps through the items from *at = 0 on; false at their end. */
bool arguments_next_item(const struct arguments *arguments, Py_ssize_t *at, PyObject **ret_key,
                         PyObject **ret_value);

static inline Py_ssize_t call_length(const struct call *call)
{
    return call->count + (call->names ? PyTuple_GET_SIZE(call->names) : 0);
}

/* Whether the call is the short one: its positional arguments and nothing else. */
static inline bool call_is_short(const struct call *call, Py_ssize_t positional_count)
{
    return call->count == positional_count && call->names == NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* From Python's numbers and texts to values of libannot: payloads, key-values, series of counters.
 * What is none of these is the caller's error and raises a TypeError that names the type, never the
 * value. Numbers of any size and text of any kind are taken. Threads: any. */

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
