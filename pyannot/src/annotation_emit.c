/* SPDX-License-Identifier: MIT */
/* The ends of ranges that an exception leaves. A class may answer for its own name: whatever it
 * answers, or raises, the range ends. */
#include "annotation_emit.h"

#include "arguments.h"

#include <stdbool.h>
#include <string.h>

/* The text of an attribute that should be a str; *ret_owner keeps it alive. NULL: none. */
static const char *attribute(PyObject *type, const char *name, PyObject **ret_owner)
{
    PyObject *value = PyObject_GetAttrString(type, name);
    const char *text = value && PyUnicode_Check(value) ? text_of(value, ret_owner) : NULL;
    Py_XDECREF(value);
    if (text == NULL)
        PyErr_Clear(); /* nothing may be called while an exception is set */
    return text;
}

/* Never NULL but if out of memory. New reference to bytes. */
static PyObject *name_of(PyObject *type)
{
    PyObject *module_owner = NULL, *name_owner = NULL;
    const char *module = attribute(type, "__module__", &module_owner);
    const char *name = attribute(type, "__qualname__", &name_owner);
    bool is_bare = !module || strcmp(module, "builtins") == 0 || strcmp(module, "__main__") == 0;
    if (!name)
        name = ((PyTypeObject *)type)->tp_name;
    PyObject *text =
        PyBytes_FromFormat("%.500s%s%.500s", is_bare ? "" : module, is_bare ? "" : ".", name);
    Py_XDECREF(module_owner);
    Py_XDECREF(name_owner);
    return text;
}

/* What was set before, and the value that is made meanwhile. */
struct note {
    PyObject *type, *error, *traceback, *text;
    struct annot_value value;
};

static void note_begin(struct note *note, PyObject *type)
{
    PyErr_Fetch(&note->type, &note->error, &note->traceback);
    note->text = name_of(type);
    note->value = annot_value_string("exception", note->text ? PyBytes_AS_STRING(note->text) : "?");
}

static void note_end(struct note *note)
{
    Py_XDECREF(note->text);
    PyErr_Restore(note->type, note->error, note->traceback);
}

void exception_pop_slow(PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_pop_values(&note.value, 1);
    note_end(&note);
}

void exception_end_slow(annot_range range, PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_end_values(range, &note.value, 1);
    note_end(&note);
}

void exception_track_end_slow(const struct annot_track *track, PyObject *type)
{
    struct note note;
    note_begin(&note, type);
    annot_track_end_values(track, &note.value, 1);
    note_end(&note);
}
