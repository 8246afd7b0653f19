/* SPDX-License-Identifier: MIT */
/* Python's text as libannot takes it. Threads: any, attached to the interpreter. */
#ifndef PYANNOT_STR_TEXT_H
#define PYANNOT_STR_TEXT_H

#include "compat.h"

/* The text of a str as UTF-8 without NUL: what has no UTF-8 form (lone surrogates, as in file names
 * that are none) is escaped, a NUL becomes a blank. *ret_owner (new reference) keeps it alive.
 * NULL: out of memory, with the exception. */
const char *text_of(PyObject *string, PyObject **ret_owner);

/* Raises "ARGUMENT must be WANTED, not TYPE". Always -1. */
int text_type_error(const char *argument, const char *wanted, PyObject *value);

#endif
