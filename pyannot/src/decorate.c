/* SPDX-License-Identifier: MIT */
/* See decorate.h. */
#include "decorate.h"

bool decorate_takes(PyObject *object)
{
    if (PyUnicode_Check(object) || object == Py_None)
        return false;
    return PyCallable_Check(object) || PyObject_TypeCheck(object, &PyStaticMethod_Type) ||
           PyObject_TypeCheck(object, &PyClassMethod_Type);
}

PyObject *decorate(PyObject *annotation, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("pyannot._decorators");
    if (module == NULL)
        return NULL;
    PyObject *wrapper = PyObject_CallMethod(module, "decorate", "OO", annotation, function);
    Py_DECREF(module);
    return wrapper;
}

PyObject *decorate_call(PyObject *annotation, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "a decorator takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_UnpackTuple(args, "annotate.__call__", 1, 1, &function))
        return NULL;
    return decorate(annotation, function);
}
