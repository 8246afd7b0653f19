/* SPDX-License-Identifier: MIT */
/* Greenlets (and gevent's): stacks that take turns on one thread.
 *
 * greenlet tells a trace function of each switch, in the one that goes on. The calls that were open
 * end there for now, and those that the frames of the other one are in go on: as after any moment
 * in which nothing was heard of a thread. The program's own function is called behind ours:
 * greenlet.settrace and gettrace are ours from then on.
 *
 * Threads: each has a trace function of its own, set at its first event. */
#include "tracing_parts.h"

static PyObject *settrace, *gettrace; /* greenlet's; NULL: nobody has imported it */
static PyObject *switched;            /* our function */

/* What switch() and our function add to the depth of recursion: from 3.12 on, calls of C do not. */
#define OUR_CALLS (PY_VERSION_HEX < 0x030C0000 ? 2 : 0)

static void follow(struct trace_thread *thread)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    trace_lines_pause(thread);
    trace_thread_sync(false, OUR_CALLS);
    PyErr_Restore(kind, value, traceback);
}

static PyObject *on_switch(PyObject *self, PyObject *args)
{
    struct trace_thread *thread = trace_self;
    (void)self;
    if (thread == NULL)
        Py_RETURN_NONE;
    if (trace_thread_begins()) {
        if (trace_is_on() && thread->generation != 0)
            follow(thread);
        trace_thread_ends();
    }
    if (thread->behind == NULL || thread->behind == Py_None)
        Py_RETURN_NONE;
    return PyObject_Call(thread->behind, args, NULL);
}

/* In place of greenlet.settrace. */
static PyObject *set_behind(PyObject *self, PyObject *function)
{
    struct trace_thread *thread = trace_self;
    (void)self;
    if (thread == NULL || !thread->is_watched)
        return PyObject_CallFunctionObjArgs(settrace, function, NULL);
    if (function != Py_None && !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "must be callable");
        return NULL;
    }
    PyObject *before = thread->behind ? thread->behind : Py_NewRef(Py_None);
    thread->behind = Py_NewRef(function);
    return before;
}

/* In place of greenlet.gettrace. */
static PyObject *get_behind(PyObject *self, PyObject *ignored)
{
    const struct trace_thread *thread = trace_self;
    (void)self;
    (void)ignored;
    if (thread == NULL || !thread->is_watched)
        return PyObject_CallNoArgs(gettrace);
    return Py_NewRef(thread->behind ? thread->behind : Py_None);
}

static PyMethodDef set_definition = {"settrace", set_behind, METH_O, NULL};
static PyMethodDef get_definition = {"gettrace", get_behind, METH_NOARGS, NULL};
static PyMethodDef switched_definition = {"annot_switched", on_switch, METH_VARARGS, NULL};

void trace_greenlets_watch(struct trace_thread *thread)
{
    PyObject *kind, *value, *traceback;
    if (__atomic_load_n(&settrace, __ATOMIC_ACQUIRE) == NULL || thread->is_watched)
        return;
    thread->is_watched = true;
    PyErr_Fetch(&kind, &value, &traceback);
    thread->behind = PyObject_CallFunctionObjArgs(settrace, switched, NULL);
    if (thread->behind == switched)
        Py_CLEAR(thread->behind);
    PyErr_Restore(kind, value, traceback); /* with none of its own: then it is not told */
}

PyObject *trace_greenlets(PyObject *module, PyObject *args)
{
    PyObject *set, *get;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:trace_greenlets", &set, &get))
        return NULL;
    if (switched == NULL)
        switched = PyCFunction_New(&switched_definition, NULL);
    if (switched == NULL)
        return NULL;
    Py_XSETREF(gettrace, Py_NewRef(get));
    PyObject *before = __atomic_exchange_n(&settrace, Py_NewRef(set), __ATOMIC_ACQ_REL);
    Py_XDECREF(before);
    __atomic_fetch_xor(&trace_now.epoch, 1, __ATOMIC_RELAXED); /* all threads look again */
    return Py_BuildValue("NN", PyCFunction_New(&set_definition, NULL),
                         PyCFunction_New(&get_definition, NULL));
}
