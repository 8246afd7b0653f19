/* SPDX-License-Identifier: MIT */
/* `async with`: what it awaits, and what it keeps of an open statement. */
#include "async_enter.h"

#include "annotation_emit.h"
#include "state.h"

/* ---- What it awaits -------------------------------------------------------------------------- */

/* It is its own iterator, which ends at once with the value. */

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

static PyMethodDef ready_methods[] = {
    {"send", ready_send, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ready_slots[] = {
    {Py_tp_dealloc, ready_dealloc}, {Py_am_await, ready_self},      {Py_tp_iter, ready_self},
    {Py_tp_iternext, ready_next},   {Py_tp_methods, ready_methods}, {0, NULL},
};

static PyType_Spec ready_spec = {
    .name = "pyannot._native.ready",
    .basicsize = sizeof(struct ready),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = ready_slots,
};

PyTypeObject *ready_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &ready_spec, NULL);
}

/* ---- What it keeps --------------------------------------------------------------------------- */

/* The variable's value is the innermost link of a chain of open statements.
 * Other tasks have the same links, from when they were made; nothing of a link changes but that it
 * ends, once, wherever that happens: an asynchronous generator that is given up in the middle is
 * closed by the event loop, in another task. So a context drops links that have ended as soon as
 * they are its innermost ones.
 *
 * Statements of asynchronous generators may end in another order than they began; then the
 * innermost one of the same annotation is taken, so that names at least are right. */

struct link {
    PyObject_HEAD PyObject *annotation;
    struct link *outer; /* NULL: the outermost */
    annot_range range;
    bool ended;
};

int async_enter_install(struct state *state)
{
    state->async_open = PyContextVar_New("pyannot.open", Py_None);
    return state->async_open ? 0 : -1;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* Takes over `outer`. */
static struct link *link_create(struct state *state, struct annotation *annotation,
                                struct link *outer)
{
    PyTypeObject *type = state_type(state, TYPE_LINK);
    struct link *link = type ? PyObject_New(struct link, type) : NULL;
    if (link == NULL) {
        Py_XDECREF(outer);
        return NULL;
    }
    link->annotation = Py_NewRef((PyObject *)annotation);
    link->outer = outer;
    link->range = 0;
    link->ended = false;
    return link;
}

/* A chain may be of any length, so it is not freed by recursion. Who has the only reference is the
 * only one who could make another. */
static void link_dealloc(PyObject *self)
{
    struct link *link = (struct link *)self, *outer = link->outer;
    PyTypeObject *type = Py_TYPE(self);
    while (outer != NULL && Py_REFCNT(outer) == 1) {
        struct link *next = outer->outer;
        outer->outer = NULL;
        Py_DECREF(outer);
        outer = next;
    }
    Py_XDECREF(outer);
    Py_XDECREF(link->annotation);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot link_slots[] = {
    {Py_tp_dealloc, link_dealloc},
    {0, NULL},
};

static PyType_Spec link_spec = {
    .name = "pyannot._native.open_statement",
    .basicsize = sizeof(struct link),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = link_slots,
};

PyTypeObject *link_type_create(PyObject *module)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &link_spec, NULL);
    if (type != NULL)
        type->tp_new = NULL; /* nothing but `async with` makes links */
    return type;
}

/* ---- The chain of the context ---------------------------------------------------------------- */

/* The innermost link in *ret_link (new reference, or NULL). 0, or -1 with an exception. */
static int chain_get(struct state *state, struct link **ret_link)
{
    PyObject *value;
    *ret_link = NULL;
    if (PyContextVar_Get(state->async_open, NULL, &value) < 0)
        return -1;
    if (value != NULL && Py_IS_TYPE(value, state_type_made(state, TYPE_LINK)))
        *ret_link = (struct link *)value;
    else
        Py_XDECREF(value); /* None, or what somebody else has put there */
    return 0;
}

static int chain_set(struct state *state, struct link *link)
{
    PyObject *token =
        PyContextVar_Set(state->async_open, link != NULL ? (PyObject *)link : Py_None);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

/* Borrowed from `link`, which may be NULL. */
static struct link *first_open(struct link *link)
{
    /* Relaxed: that a link is dropped later than it could be harms nobody. */
    while (link != NULL && __atomic_load_n(&link->ended, __ATOMIC_RELAXED))
        link = link->outer;
    return link;
}

/* Nothing is kept of what begins while nobody records, unless something is open around it. */
int async_enter(struct state *state, struct annotation *annotation)
{
    bool on = annot_enabled();
    struct link *head, *outer;
    if (chain_get(state, &head) < 0)
        return -1;
    outer = first_open(head);
    Py_XINCREF(outer);
    Py_XDECREF(head);
    if (!on && outer == NULL)
        return 0;
    struct link *link = link_create(state, annotation, outer);
    int error = link ? chain_set(state, link) : -1;
    if (error == 0 && on)
        link->range = emit_start(annotation);
    Py_XDECREF(link);
    return error;
}

/* Ends the innermost statement of the annotation that is open; its range, or 0. */
static annot_range end_innermost(struct link *link, struct annotation *annotation)
{
    for (; link != NULL; link = link->outer) {
        /* Acquire and release: its own partner; of all contexts that have it, one ends it. */
        if (link->annotation == (PyObject *)annotation &&
            !__atomic_exchange_n(&link->ended, true, __ATOMIC_ACQ_REL))
            return link->range;
    }
    return 0;
}

int async_leave(struct state *state, struct annotation *annotation, annot_range *ret_range)
{
    struct link *head;
    *ret_range = 0;
    if (chain_get(state, &head) < 0)
        return -1;
    if (head == NULL)
        return 0;
    *ret_range = end_innermost(head, annotation);
    struct link *rest = first_open(head);
    int error = rest != head ? chain_set(state, rest) : 0;
    Py_DECREF(head);
    return error;
}
