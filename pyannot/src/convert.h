/* SPDX-License-Identifier: MIT */
/* Python's texts and numbers as libannot takes them. */
#ifndef PYANNOT_CONVERT_H
#define PYANNOT_CONVERT_H

#include "compat.h"

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

#endif
