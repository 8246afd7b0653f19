/* SPDX-License-Identifier: MIT */
/* Python's texts and numbers as libannot takes them. */
#include "convert.h"

#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

const char *text_of(PyObject *string, PyObject **ret_owner)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(string, &size);
    if (text != NULL && strlen(text) == (size_t)size) {
        *ret_owner = Py_NewRef(string);
        return text;
    }
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear();
    }
    PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
    if (bytes == NULL)
        return NULL;
    char *copy = PyBytes_AS_STRING(bytes);
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes); i++) {
        if (copy[i] == '\0')
            copy[i] = ' ';
    }
    *ret_owner = bytes;
    return copy;
}

int text_type_error(const char *argument, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", argument, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

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
