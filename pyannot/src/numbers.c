/* SPDX-License-Identifier: MIT */
/* See numbers.h. */
#include "numbers.h"

#include "str_text.h"

int number_uint64(const char *argument, PyObject *value, uint64_t *ret_number)
{
    if (!PyLong_Check(value))
        return text_type_error(argument, "int", value);
    *ret_number = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred())
        return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s must be between 0 and 2**64 - 1", argument);
    return -1;
}

PyObject *number_reduce(PyObject *arguments)
{
    PyObject *copyreg = arguments ? PyImport_ImportModule("copyreg") : NULL;
    PyObject *make = copyreg ? PyObject_GetAttrString(copyreg, "__newobj_ex__") : NULL;
    PyObject *result = make ? PyTuple_Pack(2, make, arguments) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(copyreg);
    Py_XDECREF(arguments);
    return result;
}
