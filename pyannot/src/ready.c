/* SPDX-License-Identifier: MIT */
/* See ready.h. It is its own iterator, which ends at once with the value. */
#include "ready.h"

#include "types.h"

struct ready {
    PyObject_HEAD PyObject *value;
};

PyObject *ready_create(struct state *state, PyObject *value)
{
    PyTypeObject *type = state_type(state, TYPE_READY);
    struct ready *ready = type ? PyObject_New(struct ready, type) : NULL;
    if (ready == NULL)
        Py_DECREF(value);
    else
        ready->value = value;
    return (PyObject *)ready;
}

static void ready_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct ready *)self)->value);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *ready_self(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *ready_next(PyObject *self)
{
    PyObject *value = ((struct ready *)self)->value;
    if (value != Py_None) /* without an exception, None */
        PyErr_SetObject(PyExc_StopIteration, value);
    return NULL;
}

static PyObject *ready_send(PyObject *self, PyObject *ignored)
{
    PyErr_SetObject(PyExc_StopIteration, ((struct ready *)self)->value);
    (void)ignored;
    return NULL;
}

static PyMethodDef methods[] = {
    {"send", ready_send, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, ready_dealloc}, {Py_am_await, ready_self}, {Py_tp_iter, ready_self},
    {Py_tp_iternext, ready_next},   {Py_tp_methods, methods},  {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.ready",
    .basicsize = sizeof(struct ready),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *ready_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
