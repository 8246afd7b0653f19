/* SPDX-License-Identifier: MIT */
/* free_range(annotation): a range of the process around one statement, for the decorators of what
 * suspends: it may overlap others, and end on another thread. free_range(annotation, True): where a
 * task of asyncio runs, one of its track. One object for each statement.
 * Threads: one at a time. */
#include "annotation_emit.h"
#include "exception.h"
#include "state.h"
#include "task.h"
#include "types.h"

struct free_range {
    PyObject_HEAD struct annotation *annotation;
    annot_range id;
    struct task_track *track; /* instead of an id, or NULL */
    int in_coroutine;
};

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct state *state = state_of_type(type);
    PyObject *annotation;
    int in_coroutine = 0;
    (void)keywords;
    if (!state_is_alive(state) ||
        !PyArg_ParseTuple(args, "O!|p:free_range", state->annotate_type, &annotation,
                          &in_coroutine) ||
        !annotation_has_name((struct annotation *)annotation))
        return NULL;
    struct free_range *range = (struct free_range *)type->tp_alloc(type, 0);
    if (range == NULL)
        return NULL;
    range->annotation = (struct annotation *)Py_NewRef(annotation);
    range->in_coroutine = in_coroutine;
    return (PyObject *)range;
}

static void range_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct free_range *)self)->annotation);
    Py_XDECREF(((struct free_range *)self)->track);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *range_enter(PyObject *self, PyObject *ignored)
{
    struct free_range *range = (struct free_range *)self;
    (void)ignored;
    range->id = 0;
    Py_CLEAR(range->track);
    if (!annot_enabled())
        return Py_NewRef(self);
    if (range->in_coroutine)
        range->track = task_running(state_of_type(Py_TYPE(self)));
    if (range->track == NULL) {
        range->id = emit_start(range->annotation);
        return Py_NewRef(self);
    }
    Py_INCREF(range->track);
    task_range_begin(range->track, range->annotation);
    return Py_NewRef(self);
}

static PyObject *range_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct free_range *range = (struct free_range *)self;
    PyObject *exception = exception_of_exit(args, count);
    if (range->track != NULL)
        task_range_end(range->track, exception);
    else
        exception_end(range->id, exception);
    Py_CLEAR(range->track);
    range->id = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__enter__", range_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))range_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, range_new},
    {Py_tp_dealloc, range_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.free_range",
    .basicsize = sizeof(struct free_range),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *free_range_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
