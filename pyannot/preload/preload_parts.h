/* SPDX-License-Identifier: MIT */
/* What the files of the preloaded library share, and what it may find in a program: nothing of it
 * is there for sure, and a program without it is none of ours. Declared here, because one library
 * serves all interpreters. */
#ifndef PYANNOT_PRELOAD_PARTS_H
#define PYANNOT_PRELOAD_PARTS_H

#include <stddef.h>

typedef struct object PyObject;
typedef int audit_hook(const char *event, PyObject *arguments, void *context);

/* NULL where there is no such thing. */
#define OPTIONAL extern __attribute__((weak, visibility("default")))

OPTIONAL int PySys_AddAuditHook(audit_hook *hook, void *context);
OPTIONAL PyObject *PySys_GetObject(const char *name); /* borrowed */
OPTIONAL int PySys_SetObject(const char *name, PyObject *value);
OPTIONAL PyObject *PyRun_StringFlags(const char *text, int start, PyObject *globals,
                                     PyObject *locals, void *flags);
OPTIONAL PyObject *PyDict_New(void);
OPTIONAL ptrdiff_t PyList_Size(PyObject *list);
OPTIONAL PyObject *PyList_GetItem(PyObject *list, ptrdiff_t index); /* borrowed */
OPTIONAL PyObject *PyList_GetSlice(PyObject *list, ptrdiff_t low, ptrdiff_t high);
OPTIONAL int PyList_Append(PyObject *list, PyObject *item);
OPTIONAL int PyMapping_HasKeyString(PyObject *mapping, const char *key);
OPTIONAL PyObject *PySequence_GetItem(PyObject *sequence, ptrdiff_t index);
OPTIONAL PyObject *PyUnicode_DecodeFSDefaultAndSize(const char *text, ptrdiff_t size);
OPTIONAL PyObject *PyUnicode_EncodeFSDefault(PyObject *text);
OPTIONAL char *PyBytes_AsString(PyObject *bytes);
OPTIONAL PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
OPTIONAL int PyObject_SetAttrString(PyObject *object, const char *name, PyObject *value);
OPTIONAL PyObject *PyObject_CallMethod(PyObject *object, const char *name, const char *format, ...);
OPTIONAL int PyObject_IsTrue(PyObject *object);
OPTIONAL PyObject *PyImport_ImportModule(const char *name);
OPTIONAL PyObject *PyErr_Occurred(void); /* borrowed */
OPTIONAL int PyErr_ExceptionMatches(PyObject *class);
OPTIONAL void PyErr_Clear(void);
OPTIONAL void Py_IncRef(PyObject *object);
OPTIONAL void Py_DecRef(PyObject *object);
OPTIONAL PyObject *PyExc_Exception;

/* Of the C library. */
OPTIONAL char *getenv(const char *name);
OPTIONAL int access(const char *path, int mode);

/* quick.c: the usual way into pyannot, what bootstrap.py does where all goes well, without
 * compiling it. Whether pyannot has begun, or is not wanted. 0: not this way, bootstrap.py may look
 * further and tell why. -1: an exception is set that is not ours, that of a signal. Needs the GIL.
 */
int quick_begin(void);

#endif
