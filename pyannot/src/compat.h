/* SPDX-License-Identifier: MIT */
/* Differences between CPython 3.9 and 3.15. */
#ifndef PYANNOT_COMPAT_H
#define PYANNOT_COMPAT_H

#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x03090000
#error "pyannot needs CPython 3.9 or later"
#endif

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *reference_new(PyObject *object)
{
    Py_XINCREF(object);
    return object;
}

#define Py_NewRef(object)  reference_new((PyObject *)(object))
#define Py_XNewRef(object) reference_new((PyObject *)(object))
#endif

/* 3.12 deprecates the old names. */
#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Code_GetExtra              _PyCode_GetExtra
#define PyUnstable_Code_SetExtra              _PyCode_SetExtra
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#endif

/* The names of arguments for PyArg_ParseTupleAndKeywords, which only reads them. */
#define ARGUMENT_NAMES(names) ((char **)(names))

/* Returns the item of a list that other threads may change; NULL without an exception if the index
 * is outside of it. New reference. */
static inline PyObject *pyannot_list_item(PyObject *list, size_t index)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *item = PyList_GetItemRef(list, (Py_ssize_t)index);
    if (item == NULL)
        PyErr_Clear();
    return item;
#else
    if (index >= (size_t)PyList_GET_SIZE(list))
        return NULL;
    return Py_NewRef(PyList_GET_ITEM(list, (Py_ssize_t)index));
#endif
}

/* 1 if two threads may run this module's code at once. */
#ifdef Py_GIL_DISABLED
#define PYANNOT_FREE_THREADED                  1
#define PYANNOT_BEGIN_CRITICAL_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object)
#define PYANNOT_END_CRITICAL_SECTION()         Py_END_CRITICAL_SECTION()
#else
#define PYANNOT_FREE_THREADED 0
#define PYANNOT_BEGIN_CRITICAL_SECTION(object)
#define PYANNOT_END_CRITICAL_SECTION()
#endif

#endif
