/* SPDX-License-Identifier: MIT */
/* Pickled, an annotation is a call of what made it, with what that was given: ids of names and
 * domains are a process's own. */
#include "annotation_reduce.h"

#include <string.h>

static PyObject *text_object(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *value_object(const struct annot_value *value)
{
    switch (value->kind) {
    case ANNOT_PAYLOAD_INT64:
        return PyLong_FromLongLong(value->value.int64);
    case ANNOT_PAYLOAD_UINT64:
        return PyLong_FromUnsignedLongLong(value->value.uint64);
    case ANNOT_PAYLOAD_DOUBLE:
        return PyFloat_FromDouble(value->value.float64);
    case ANNOT_PAYLOAD_BOOL:
        return PyBool_FromLong(value->value.boolean);
    case ANNOT_PAYLOAD_STRING:
        return text_object(value->value.string);
    default:
        return Py_NewRef(Py_None);
    }
}

/* Takes over `value`; NULL sticks. 0, or -1 with an exception. */
static int put(PyObject *dict, const char *key, PyObject *value)
{
    PyObject *text = value ? text_object(key) : NULL;
    int error = text ? PyDict_SetItem(dict, text, value) : -1;
    Py_XDECREF(text);
    Py_XDECREF(value);
    return error;
}

static int put_items(PyObject *dict, const struct annot_event *event)
{
    for (uint64_t i = 0; i < event->value_count; i++) {
        if (put(dict, event->values[i].key, value_object(&event->values[i])) < 0)
            return -1;
    }
    return 0;
}

/* Beside one payload the items were keywords; else they may be called like an argument. */
static int put_payloads(PyObject *keywords, const struct annot_event *event)
{
    struct annot_value value = {.kind = event->payload_kind};
    if (value.kind != ANNOT_PAYLOAD_NONE) {
        memcpy(&value.value, &event->payload, sizeof(value.value));
        return put(keywords, "payload", value_object(&value)) < 0 ? -1 : put_items(keywords, event);
    }
    if (event->value_count == 0)
        return 0;
    PyObject *items = PyDict_New();
    int error = items ? put_items(items, event) : -1;
    if (error == 0)
        error = PyDict_SetItemString(keywords, "payload", items);
    Py_XDECREF(items);
    return error;
}

static int put_attributes(PyObject *keywords, const struct annotation *annotation)
{
    const struct annot_event *event = &annotation->event;
    if (annotation->domain != NULL &&
        PyDict_SetItemString(keywords, "domain", annotation->domain) < 0)
        return -1;
    if (annotation->category != NULL &&
        PyDict_SetItemString(keywords, "category", annotation->category) < 0)
        return -1;
    if (event->color != 0 && put(keywords, "color", PyLong_FromUnsignedLong(event->color)) < 0)
        return -1;
    return event->level ? put(keywords, "level", PyLong_FromLong(event->level)) : 0;
}

PyObject *annotation_reduce(PyObject *maker, const struct annotation *annotation)
{
    PyObject *name = annotation->name ? annotation->name : Py_None, *partial = NULL;
    PyObject *functools = PyImport_ImportModule("functools");
    PyObject *make = functools ? PyObject_GetAttrString(functools, "partial") : NULL;
    PyObject *keywords = make ? PyDict_New() : NULL;
    PyObject *arguments = keywords ? PyTuple_Pack(2, maker, name) : NULL;
    if (arguments != NULL && put_attributes(keywords, annotation) == 0 &&
        put_payloads(keywords, &annotation->event) == 0)
        partial = PyObject_Call(make, arguments, keywords);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    Py_XDECREF(make);
    Py_XDECREF(functools);
    return partial ? Py_BuildValue("(N())", partial) : NULL;
}
