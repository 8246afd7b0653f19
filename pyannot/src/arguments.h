/* SPDX-License-Identifier: MIT */
/* The arguments of a call that describes an event, sorted into one array.
 * Threads: pure functions. */
#ifndef PYANNOT_ARGUMENTS_H
#define PYANNOT_ARGUMENTS_H

#include "state.h"

/* What a call looks like: the first `positional` arguments may be given without their names. */
struct signature {
    const char *function;
    enum argument positional[2];
    Py_ssize_t positional_count; /* all of them are required */
    enum argument rejected;      /* the one argument that this function does not have */
};

/* The arguments of a vectorcall. */
struct call {
    PyObject *const *args;
    Py_ssize_t count; /* positional ones; those of `names` follow */
    PyObject *names;  /* tuple or NULL */
};

/* Fills values[] with borrowed references, NULL where not given. 0, or -1 with a TypeError. */
int arguments_parse(const struct state *state, const struct signature *signature,
                    const struct call *call, PyObject *values[ARGUMENT_COUNT]);

/* Whether the call is the short one: its positional arguments and nothing else. */
static inline bool call_is_short(const struct call *call, Py_ssize_t positional_count)
{
    return call->count == positional_count && call->names == NULL;
}

#endif
