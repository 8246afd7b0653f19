/* SPDX-License-Identifier: MIT */
/* pyannot._detach: detach.h for Python. No state. */
#include "compat.h"
#include "detach.h"

#include <errno.h>
#include <stdlib.h>

/* The bytes objects of a sequence, NULL-terminated; they stay the sequence's. NULL: an exception.
 */
static char **strings_of(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    char **strings = PyMem_Calloc((size_t)count + 1, sizeof(*strings));
    if (strings == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, i), &strings[i], NULL) < 0) {
            PyMem_Free(strings);
            return NULL;
        }
    }
    return strings;
}

static PyObject *start_with(struct detach *detach, PyObject *arguments, PyObject *environment)
{
    pid_t pid = -1;
    int error = 0;
    char **words = strings_of(arguments);
    char **variables = words ? strings_of(environment) : NULL;
    if (variables) {
        detach->arguments = words;
        detach->environment = variables;
        Py_BEGIN_ALLOW_THREADS error = detach_start(detach, &pid);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(variables);
    PyMem_Free(words);
    if (PyErr_Occurred())
        return NULL;
    if (error == 0)
        return PyLong_FromLong(pid);
    errno = -error;
    return PyErr_SetFromErrnoWithFilename(PyExc_OSError, detach->path);
}

static PyObject *start(PyObject *module, PyObject *args)
{
    struct detach detach = {0};
    PyObject *arguments, *environment;
    (void)module;
    if (!PyArg_ParseTuple(args, "yO!O!(iii):start", &detach.path, &PyTuple_Type, &arguments,
                          &PyTuple_Type, &environment, &detach.descriptors[0],
                          &detach.descriptors[1], &detach.descriptors[2]))
        return NULL;
    return start_with(&detach, arguments, environment);
}

static PyMethodDef functions[] = {
    {"start", start, METH_VARARGS,
     "start(path, arguments, environment, (input, output, error)) -> pid of a program that is\n"
     "nobody's child; all texts are bytes."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pyannot._detach",
    .m_doc = "Starts programs that are nobody's children; pyannot.record uses it.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__detach(void);

PyMODINIT_FUNC PyInit__detach(void)
{
    return PyModuleDef_Init(&definition);
}
