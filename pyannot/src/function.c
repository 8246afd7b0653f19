/* SPDX-License-Identifier: MIT */
/* Decorators, the wrapper of a plain function, and the ranges of functions that suspend. */
#include "function.h"

#include "annotation.h"
#include "scope.h"
#include "state.h"
#include "task.h"
#include "task_track.h"
#include "task_watch.h"

/* ---- Decorators ------------------------------------------------------------------------------ */

bool decorate_takes(PyObject *object)
{
    if (PyUnicode_Check(object) || object == Py_None)
        return false;
    return PyCallable_Check(object) || PyObject_TypeCheck(object, &PyStaticMethod_Type) ||
           PyObject_TypeCheck(object, &PyClassMethod_Type);
}

PyObject *decorate(PyObject *annotation, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("pyannot._decorators");
    if (module == NULL)
        return NULL;
    PyObject *wrapper = PyObject_CallMethod(module, "decorate", "OO", annotation, function);
    Py_DECREF(module);
    return wrapper;
}

PyObject *decorate_call(PyObject *annotation, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "a decorator takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_UnpackTuple(args, "annotate.__call__", 1, 1, &function))
        return NULL;
    return decorate(annotation, function);
}

/* ---- annotated_function ---------------------------------------------------------------------- */

/* annotated_function: calls a function inside a range. It replaces the function that it wraps: it
 * binds as a method, can be weakly referenced, pickles by its name, and carries the function's
 * metadata in its __dict__ (set by functools.update_wrapper).
 * Threads: constant after creation. */

struct function {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *wrapped;
    struct annotation *annotation;
    PyObject *dict;
    PyObject *weak_references;
    bool is_python; /* `wrapped` is a function of Python */
};

/* Calls Python's own functions, which nearly all are, without PyObject_Vectorcall: our caller makes
 * its checks anyway. */
static inline PyObject *call_wrapped(const struct function *function, PyObject *const *args,
                                     size_t flags, PyObject *names)
{
    PyObject *wrapped = function->wrapped;
    if (__builtin_expect(function->is_python, 1))
        return ((PyFunctionObject *)wrapped)->vectorcall(wrapped, args, flags, names);
    return PyObject_Vectorcall(wrapped, args, flags, names);
}

/* While tasks are watched: a task's call is a range of its track. */
static PyObject *call_in_task(struct function *function, PyObject *const *args, size_t flags,
                              PyObject *names)
{
    struct state *state = state_of_type(Py_TYPE(function));
    struct task_track *track = state ? task_running(state) : NULL;
    Py_XINCREF(track);
    if (track != NULL)
        task_range_begin(track, function->annotation);
    else
        emit_push(function->annotation);
    PyObject *result = call_wrapped(function, args, flags, names);
    PyObject *exception = result ? NULL : PyErr_Occurred();
    if (track != NULL)
        task_range_end(track, exception);
    else
        exception_pop(exception);
    Py_XDECREF(track);
    return result;
}

/* Not inlined, so that the path without a recording saves no registers. */
__attribute__((noinline)) static PyObject *
call_recorded(struct function *function, PyObject *const *args, size_t flags, PyObject *names)
{
    (void)task_is_late(Py_TYPE(function));
    if (task_is_watched())
        return call_in_task(function, args, flags, names);
    emit_push(function->annotation);
    PyObject *result = call_wrapped(function, args, flags, names);
    exception_pop(result ? NULL : PyErr_Occurred());
    return result;
}

/* A pop without its push, if recording began in between, is prevented by the two paths; the reverse
 * by the gate inside annot_pop. */
static PyObject *function_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                     PyObject *names)
{
    struct function *function = (struct function *)self;
    return annot_enabled() ? call_recorded(function, args, flags, names)
                           : call_wrapped(function, args, flags, names);
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct state *state = state_of_type(type);
    PyObject *annotation, *wrapped;
    (void)keywords;
    if (!state_is_alive(state) || !PyArg_ParseTuple(args, "O!O:annotated_function",
                                                    state->annotate_type, &annotation, &wrapped))
        return NULL;
    if (wrapped != Py_None && !PyCallable_Check(wrapped)) { /* None: set by __setstate__ */
        PyErr_Format(PyExc_TypeError, "function must be callable, not %.100s",
                     Py_TYPE(wrapped)->tp_name);
        return NULL;
    }
    struct function *function = (struct function *)type->tp_alloc(type, 0);
    if (function == NULL)
        return NULL;
    function->vectorcall = function_vectorcall;
    function->wrapped = Py_NewRef(wrapped);
    function->is_python = PyFunction_Check(wrapped);
    function->annotation = (struct annotation *)Py_NewRef(annotation);
    return (PyObject *)function;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct function *function = (struct function *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(function->wrapped);
    Py_VISIT(function->dict);
    return 0;
}

static int function_clear(PyObject *self)
{
    struct function *function = (struct function *)self;
    Py_CLEAR(function->dict);
    return 0;
}

static void function_dealloc(PyObject *self)
{
    struct function *function = (struct function *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (function->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(function->wrapped);
    Py_XDECREF(function->annotation);
    Py_XDECREF(function->dict);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, object);
}

static PyObject *function_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<annotated %R>", ((struct function *)self)->wrapped);
}

/* Pickled by its name, or with its code: _decorators.py. */
static PyObject *function_reduce(PyObject *self, PyObject *ignored)
{
    struct function *function = (struct function *)self;
    (void)ignored;
    PyObject *module = PyImport_ImportModule("pyannot._decorators");
    PyObject *reduced = module ? PyObject_CallMethod(module, "reduced", "OOO", self,
                                                     function->annotation, function->wrapped)
                               : NULL;
    Py_XDECREF(module);
    return reduced;
}

/* For an object that was made without a function: sets that, and the attributes. */
static PyObject *function_setstate(PyObject *self, PyObject *state)
{
    struct function *function = (struct function *)self;
    PyObject *wrapped, *attributes;
    if (function->wrapped != Py_None) {
        PyErr_SetString(PyExc_TypeError, "the annotated function has its state already");
        return NULL;
    }
    if (!PyArg_Parse(state, "(OO!)", &wrapped, &PyDict_Type, &attributes))
        return NULL;
    PyObject *dict = PyObject_GenericGetDict(self, NULL);
    int error = dict ? PyDict_Update(dict, attributes) : -1;
    Py_XDECREF(dict);
    if (error < 0)
        return NULL;
    Py_DECREF(function->wrapped);
    function->wrapped = Py_NewRef(wrapped);
    function->is_python = PyFunction_Check(wrapped);
    Py_RETURN_NONE;
}

#if PY_VERSION_HEX >= 0x030e0000
/* From 3.14 on, update_wrapper copies only __annotate__; functions make __annotations__ from it. */
static PyObject *function_annotations(PyObject *self, void *ignored)
{
    (void)ignored;
    return PyObject_GetAttrString(((struct function *)self)->wrapped, "__annotations__");
}
#endif

static PyMethodDef methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {"__setstate__", function_setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(struct function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weak_references), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct function, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
#if PY_VERSION_HEX >= 0x030e0000
    {"__annotations__", function_annotations, NULL, NULL, NULL},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, function_new},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, function_get},
    {Py_tp_repr, function_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.annotated_function",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};

PyTypeObject *function_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* ---- free_range ------------------------------------------------------------------------------ */

/* free_range(annotation): a range of the process around one statement, for the decorators of
 * functions that suspend: it may overlap others, and end on another thread. free_range(annotation,
 * True): in a task of asyncio, a range of its track. One object for each statement.
 * Threads: one at a time. */

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

static PyMethodDef range_methods[] = {
    {"__enter__", range_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))range_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot range_slots[] = {
    {Py_tp_new, range_new},
    {Py_tp_dealloc, range_dealloc},
    {Py_tp_methods, range_methods},
    {0, NULL},
};

static PyType_Spec range_spec = {
    .name = "pyannot._native.free_range",
    .basicsize = sizeof(struct free_range),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = range_slots,
};

PyTypeObject *free_range_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &range_spec, NULL);
}
