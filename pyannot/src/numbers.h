/* SPDX-License-Identifier: MIT */
/* Numbers of flows and tracks in Python, and how such objects travel. Threads: any. */
#ifndef PYANNOT_NUMBERS_H
#define PYANNOT_NUMBERS_H

#include "compat.h" /* Python.h comes before the system's headers */

#include <stdint.h>

/* An int from 0 to 2^64 - 1. 0, or -1 with an exception that names the argument. */
int number_uint64(const char *argument, PyObject *value, uint64_t *ret_number);

/* What __reduce__ returns for an object that TYPE(**keywords) makes again, given (TYPE, (),
 * keywords), which it takes over; NULL is passed on. */
PyObject *number_reduce(PyObject *arguments);

#endif
