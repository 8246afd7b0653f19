/* SPDX-License-Identifier: MIT */
/* See quick.h. Threads: one, with the GIL. */
#include "quick.h"

#include "python_api.h"

#include <stdbool.h>

enum { PATH_BYTES = 4096, READABLE = 4 /* R_OK */ };

/* All or nothing: an interpreter that lacks one of them is left to bootstrap.py. */
static bool is_possible(void)
{
    return PySys_GetObject && PySys_SetObject && PyList_Size && PyList_GetItem && PyList_GetSlice &&
           PyList_Append && PyList_Insert && PySequence_GetItem &&
           PyUnicode_DecodeFSDefaultAndSize && PyUnicode_EncodeFSDefault && PyBytes_AsString &&
           PyObject_GetAttrString && PyObject_CallMethod && PyObject_IsTrue &&
           PyImport_ImportModule && PyErr_Occurred && PyErr_ExceptionMatches && PyErr_Clear &&
           Py_IncRef && &PyExc_Exception && getenv && access;
}

/* The new end, or NULL: no room. */
static char *append(char *at, const char *end, const char *text)
{
    for (; at && *text; text++) {
        if (at + 1 >= end)
            return NULL;
        *at++ = *text;
    }
    if (at)
        *at = 0;
    return at;
}

static bool flag(const char *name)
{
    PyObject *flags = PySys_GetObject("flags");
    PyObject *value = flags ? PyObject_GetAttrString(flags, name) : NULL;
    bool is_set = value && PyObject_IsTrue(value) == 1;
    if (!value)
        PyErr_Clear(); /* safe_path came with 3.11 */
    else
        Py_DecRef(value);
    return is_set;
}

/* The folders that annot names follow. */
static bool add_folders(PyObject *own)
{
    const char *at = getenv("ANNOT_PYTHON_PATH");
    while (at && *at) {
        const char *end = at;
        while (*end && *end != ':')
            end++;
        PyObject *folder = PyUnicode_DecodeFSDefaultAndSize(at, end - at);
        bool added = folder && PyList_Append(own, folder) == 0;
        Py_DecRef(folder);
        if (!added)
            return false;
        at = *end ? end + 1 : end;
    }
    return true;
}

/* A copy of sys.path, without the folder of the script: its modules are not ours to import. New
 * reference, or NULL. */
static PyObject *own_path(PyObject *path)
{
    bool is_safe = flag("isolated") || flag("safe_path");
    PyObject *own = PyList_GetSlice(path, is_safe ? 0 : 1, PyList_Size(path));
    if (own && !add_folders(own)) {
        Py_DecRef(own);
        own = NULL;
    }
    return own;
}

/* "/pyannot/_native.cpython-311-x86_64-linux-gnu.so": what only a pyannot for this build has. */
static bool native_file(char *file, const char *end)
{
    PyObject *imp = PyImport_ImportModule("_imp");
    PyObject *suffixes = imp ? PyObject_CallMethod(imp, "extension_suffixes", NULL) : NULL;
    PyObject *suffix = suffixes ? PySequence_GetItem(suffixes, 0) : NULL;
    PyObject *bytes = suffix ? PyUnicode_EncodeFSDefault(suffix) : NULL;
    char *at = append(file, end, "/pyannot/_native");
    bool known = bytes && append(at, end, PyBytes_AsString(bytes));
    Py_DecRef(bytes);
    Py_DecRef(suffix);
    Py_DecRef(suffixes);
    Py_DecRef(imp);
    return known;
}

static bool has_file(PyObject *folder, const char *file)
{
    char path[PATH_BYTES];
    PyObject *bytes = PyUnicode_EncodeFSDefault(folder);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    char *at = text ? append(path, path + sizeof(path), text) : NULL;
    bool found = append(at, path + sizeof(path), file) && access(path, READABLE) == 0;
    if (!text)
        PyErr_Clear(); /* what stands in a path need not be text */
    Py_DecRef(bytes);
    return found;
}

/* The folder that has it comes first: importing would list all before it. */
static bool put_first(PyObject *own)
{
    char file[256];
    if (!native_file(file, file + sizeof(file)))
        return false;
    for (ptrdiff_t i = 0; i < PyList_Size(own); i++) {
        PyObject *folder = PyList_GetItem(own, i);
        if (has_file(folder, file))
            return PyList_Insert(own, 0, folder) == 0;
    }
    return false;
}

static bool call_begin(void)
{
    PyObject *observe = PyImport_ImportModule("pyannot.observe");
    PyObject *begun = observe ? PyObject_CallMethod(observe, "begin", NULL) : NULL;
    Py_DecRef(begun);
    Py_DecRef(observe);
    return begun;
}

static bool begin_by(PyObject *own)
{
    if (PySys_SetObject("path", own) != 0)
        return false;
    PyObject *os = PyImport_ImportModule("os"); /* the interpreter's, also under -S */
    bool begun = os && put_first(own) && call_begin();
    Py_DecRef(os);
    return begun;
}

int quick_begin(void)
{
    if (!is_possible())
        return 0;
    if (!getenv("ANNOT_PYTHON"))
        return 1;
    PyObject *path = PySys_GetObject("path");
    Py_IncRef(path);
    PyObject *own = path ? own_path(path) : NULL;
    int begun = own && begin_by(own);
    if (own && PySys_GetObject("path") == own)
        PySys_SetObject("path", path);
    Py_DecRef(own);
    Py_DecRef(path);
    if (!begun && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
    }
    return begun;
}
