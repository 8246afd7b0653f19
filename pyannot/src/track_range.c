/* SPDX-License-Identifier: MIT */
/* The class `track_range`: what track.annotate() gives. Which of its statements were entered while
 * somebody recorded is remembered as for other annotations (entered.h).
 * Threads: any; a statement is left on the thread that entered it. */
#include "annotation_emit.h"
#include "annotation_reduce.h"
#include "decorate.h"
#include "entered.h"
#include "exception.h"
#include "ready.h"
#include "state.h"
#include "track.h"
#include "types.h"

struct track_range {
    PyObject_HEAD struct track *track;
    struct annotation *annotation;
};

PyObject *track_range_create(struct state *state, struct track *track,
                             struct annotation *annotation)
{
    PyTypeObject *type = state_type(state, TYPE_TRACK_RANGE);
    struct track_range *range = type ? PyObject_New(struct track_range, type) : NULL;
    if (range == NULL) {
        Py_DECREF(annotation);
        return NULL;
    }
    range->track = (struct track *)Py_NewRef((PyObject *)track);
    range->annotation = annotation;
    return (PyObject *)range;
}

static void range_dealloc(PyObject *self)
{
    struct track_range *range = (struct track_range *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(range->track);
    Py_XDECREF(range->annotation);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *range_enter(PyObject *self, PyObject *ignored)
{
    struct track_range *range = (struct track_range *)self;
    bool on = annot_enabled();
    (void)ignored;
    entered_push_own(on);
    if (on) {
        emit_track_begin(&range->track->track, range->annotation);
        track_opened(range->track);
    }
    return Py_NewRef(self);
}

static PyObject *range_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct track_range *range = (struct track_range *)self;
    if (entered_pop_own() && track_may_end(range->track))
        exception_track_end(&range->track->track, exception_of_exit(args, count));
    Py_RETURN_NONE;
}

static PyObject *range_aenter(PyObject *self, PyObject *ignored)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyObject *entered = state_is_alive(state) ? range_enter(self, ignored) : NULL;
    return entered ? ready_create(state, entered) : NULL;
}

static PyObject *range_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyObject *left = range_exit(self, args, count);
    if (!state_is_alive(state))
        Py_CLEAR(left);
    return left ? ready_create(state, left) : NULL;
}

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyErr_Format(PyExc_TypeError, "%.100s objects are made by track.annotate()", type->tp_name);
    return NULL;
}

static PyObject *range_repr(PyObject *self)
{
    struct track_range *range = (struct track_range *)self;
    return PyUnicode_FromFormat("%R.annotate(%R)", range->track, range->annotation->name);
}

static PyObject *range_reduce(PyObject *self, PyObject *ignored)
{
    struct track_range *range = (struct track_range *)self;
    PyObject *maker = PyObject_GetAttrString((PyObject *)range->track, "annotate");
    (void)ignored;
    PyObject *result = maker ? annotation_reduce(maker, range->annotation) : NULL;
    Py_XDECREF(maker);
    return result;
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"__enter__", range_enter, METH_NOARGS, PyDoc_STR("__enter__($self)\n--\n\nOpen the range.")},
    {"__exit__", METHOD(range_exit), METH_FASTCALL,
     PyDoc_STR("__exit__($self, *exception)\n--\n\nClose it.")},
    {"__aenter__", range_aenter, METH_NOARGS,
     PyDoc_STR("__aenter__($self)\n--\n\nOpen the range.")},
    {"__aexit__", METHOD(range_aexit), METH_FASTCALL,
     PyDoc_STR("__aexit__($self, *exception)\n--\n\nClose it.")},
    {"__reduce__", range_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, range_new},   {Py_tp_dealloc, range_dealloc}, {Py_tp_repr, range_repr},
    {Py_tp_methods, methods}, {Py_tp_call, decorate_call},    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.track_range",
    .basicsize = sizeof(struct track_range),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *track_range_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
