/* SPDX-License-Identifier: MIT */
/* The module's functions: see scope.h. */
#include "functions.h"

#include <string.h>

#include "naming.h"
#include "scope.h"

#define SCOPE_FUNCTION(name)                                                                       \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t count,    \
                                     PyObject *names)                                              \
    {                                                                                              \
        const struct scope scope = {PyModule_GetState(module), NULL};                              \
        const struct call call = {args, count, names};                                             \
        return scope_##name(&scope, &call);                                                        \
    }

SCOPE_FUNCTION(push)
SCOPE_FUNCTION(mark)
SCOPE_FUNCTION(counter)
SCOPE_FUNCTION(start)

static PyObject *function_enabled(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyBool_FromLong(annot_enabled());
}

static PyObject *function_current(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyLong_FromUnsignedLongLong(annot_current());
}

static PyObject *function_status(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyUnicode_DecodeUTF8(annot_status(), (Py_ssize_t)strlen(annot_status()), "replace");
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

PyMethodDef functions_table[] = {
    {"push", WITH_KEYWORDS(function_push), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("push(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nOpen a range on the calling thread; pop() closes it.")},
    {"pop", scope_pop, METH_NOARGS,
     PyDoc_STR("pop()\n--\n\nClose the calling thread's innermost open range.")},
    {"mark", WITH_KEYWORDS(function_mark), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("mark(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nRecord one instant on the calling thread.")},
    {"counter", WITH_KEYWORDS(function_counter), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("counter(name, value, *, domain=None, category=None, color=None, level=0)\n"
               "--\n\nSet a counter of this process to a number, or several series of it:\n"
               "counter(\"memory\", {\"used\": 3, \"free\": 5}).")},
    {"start", WITH_KEYWORDS(function_start), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("start(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nOpen a range that may overlap others and end on any thread of\n"
               "this process. Returns its id for end(); 0 while nobody records.")},
    {"end", scope_end, METH_O,
     PyDoc_STR("end(range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"set_process_name", naming_set_process, METH_O,
     PyDoc_STR("set_process_name(name, /)\n--\n\nName this process in every output.")},
    {"set_thread_name", naming_set_thread, METH_O,
     PyDoc_STR("set_thread_name(name, /)\n--\n\nName the calling thread in every output.")},
    {"enabled", function_enabled, METH_NOARGS,
     PyDoc_STR("enabled()\n--\n\nWhether anybody records now.")},
    {"current", function_current, METH_NOARGS,
     PyDoc_STR("current()\n--\n\nThe number of the calling thread's innermost range, to write into "
               "logs;\n0 where none is open or nobody records.")},
    {"status", function_status, METH_NOARGS,
     PyDoc_STR("status()\n--\n\nWhy this process does not record, or 'recording'.")},
    {NULL, NULL, 0, NULL},
};
