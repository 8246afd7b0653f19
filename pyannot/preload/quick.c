/* SPDX-License-Identifier: MIT */
/* The usual way into pyannot. Threads: one, with the GIL. */
#include "preload_parts.h"

#include <stdbool.h>

enum { PATH_BYTES = 4096, READABLE = 4 /* R_OK */ };

struct module {
    const char *name, *file, *loader;
};

/* All or nothing: an interpreter that lacks one of them is left to bootstrap.py. */
static bool is_possible(void)
{
    return PySys_GetObject && PySys_SetObject && PyList_Size && PyList_GetItem && PyList_GetSlice &&
           PyList_Append && PyMapping_HasKeyString && PySequence_GetItem &&
           PyUnicode_DecodeFSDefaultAndSize && PyUnicode_EncodeFSDefault && PyBytes_AsString &&
           PyObject_GetAttrString && PyObject_SetAttrString && PyObject_CallMethod &&
           PyObject_IsTrue && PyImport_ImportModule && PyErr_Occurred && PyErr_ExceptionMatches &&
           PyErr_Clear && Py_IncRef && &PyExc_Exception && getenv && access;
}

/* The new end, or NULL: no room. */
static char *append(char *at, const char *end, const char *text)
{
    for (; at && *text; text++) {
        if (at + 1 >= end)
            return NULL;
        *at++ = *text;
        __asm__("" ::: "memory"); /* or it becomes a call of memcpy, which may not be there */
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

/* The folder's path, "" if that is no text or too long. */
static void folder_path(PyObject *folder, char path[PATH_BYTES])
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(folder);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    *path = 0;
    if (!text)
        PyErr_Clear();
    if (!text || !append(path, path + PATH_BYTES, text))
        *path = 0;
    Py_DecRef(bytes);
}

/* The first folder that has it. */
static bool find_folder(PyObject *own, const char *native, char folder[PATH_BYTES])
{
    char path[PATH_BYTES];
    for (ptrdiff_t i = 0; i < PyList_Size(own); i++) {
        folder_path(PyList_GetItem(own, i), folder);
        char *at = *folder ? append(path, path + sizeof(path), folder) : NULL;
        if (append(at, path + sizeof(path), native) && access(path, READABLE) == 0)
            return true;
    }
    return false;
}

/* One of our modules, by the interpreter's own loader: finding it by its name would list folders
 * and look for files that are not there. */
static bool load(const char *folder, const struct module *module)
{
    char path[PATH_BYTES];
    const char *end = path + sizeof(path);
    PyObject *bootstrap = PyImport_ImportModule("_frozen_importlib");
    PyObject *external = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *loader = NULL, *spec = NULL, *loaded = NULL;
    if (bootstrap && external && append(append(path, end, folder), end, module->file))
        loader = PyObject_CallMethod(external, module->loader, "ss", module->name, path);
    if (loader)
        spec = PyObject_CallMethod(bootstrap, "spec_from_loader", "sO", module->name, loader);
    if (spec)
        loaded = PyObject_CallMethod(bootstrap, "_load", "O", spec);
    Py_DecRef(loaded);
    Py_DecRef(spec);
    Py_DecRef(loader);
    Py_DecRef(external);
    Py_DecRef(bootstrap);
    return loaded;
}

/* As importing would do. */
static bool bind(PyObject *package, const char *name, const char *full_name)
{
    PyObject *module = PyImport_ImportModule(full_name);
    bool bound = module && PyObject_SetAttrString(package, name, module) == 0;
    Py_DecRef(module);
    return bound;
}

static bool load_all(PyObject *own)
{
    char native[256], folder[PATH_BYTES];
    if (!native_file(native, native + sizeof(native)) || !find_folder(own, native, folder))
        return false;
    const struct module modules[] = {
        {"pyannot._native", native, "ExtensionFileLoader"},
        {"pyannot", "/pyannot/__init__.py", "SourceFileLoader"},
        {"pyannot.observe", "/pyannot/observe/__init__.py", "SourceFileLoader"},
    };
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (!load(folder, &modules[i]))
            return false;
    PyObject *package = PyImport_ImportModule("pyannot");
    bool bound = package && bind(package, "_native", "pyannot._native") &&
                 bind(package, "observe", "pyannot.observe");
    Py_DecRef(package);
    return bound;
}

/* By .pth files, for one. */
static bool is_loaded(void)
{
    PyObject *modules = PySys_GetObject("modules");
    return modules && PyMapping_HasKeyString(modules, "pyannot");
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
    PyObject *os = PyImport_ImportModule("os"); /* under -S it is not there yet */
    bool begun = os && (is_loaded() || load_all(own)) && call_begin();
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
