/* SPDX-License-Identifier: MIT */
/* What CPython 3.9 to 3.14 do not spell alike. */
#ifndef PYANNOT_COMPAT_H
#define PYANNOT_COMPAT_H

#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x03090000
#error "pyannot needs CPython 3.9 or later"
#endif

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

/* Whether two threads may run this module's code at once. */
#ifdef Py_GIL_DISABLED
#define PYANNOT_FREE_THREADED 1
#else
#define PYANNOT_FREE_THREADED 0
#endif

#endif
