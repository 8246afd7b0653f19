/* SPDX-License-Identifier: MIT */
/* See str_text.h. */
#include "str_text.h"

#include <string.h>

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
