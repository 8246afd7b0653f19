/* SPDX-License-Identifier: MIT */
/* The module's functions: push, pop, mark, counter, start, end, names, enabled, status.
 * Arguments are checked also while nobody records, so that a wrong call shows itself without a
 * recorder; what happens inside libannot never raises. */
#include "functions.h"

#include "annotation_emit.h"
#include "arguments.h"

static const struct signature push_signature = {"push", {ARGUMENT_NAME}, 1, ARGUMENT_VALUE};
static const struct signature mark_signature = {"mark", {ARGUMENT_NAME}, 1, ARGUMENT_VALUE};
static const struct signature start_signature = {"start", {ARGUMENT_NAME}, 1, ARGUMENT_VALUE};
static const struct signature counter_signature = {
    "counter", {ARGUMENT_NAME, ARGUMENT_VALUE}, 2, ARGUMENT_PAYLOAD};

/* The annotation that the call describes: the name's own if it says no more. New reference. */
static struct annotation *annotation_of_call(struct state *state, const struct signature *signature,
                                             const struct call *call)
{
    PyObject *values[ARGUMENT_COUNT];
    if (call_is_short(call, 1))
        return annotation_of_name(state, call->args[0]);
    if (arguments_parse(state, signature, call, values) < 0)
        return NULL;
    return annotation_create(state, values);
}

static PyObject *function_push(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    struct call call = {args, count, names};
    struct annotation *annotation =
        annotation_of_call(PyModule_GetState(module), &push_signature, &call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled())
        emit_push(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *function_pop(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    annot_pop();
    Py_RETURN_NONE;
}

static PyObject *function_mark(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    struct call call = {args, count, names};
    struct annotation *annotation =
        annotation_of_call(PyModule_GetState(module), &mark_signature, &call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled())
        emit_mark(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* counter("queue", 3) with an int of 64 bits or a float; any other call goes the long way. */
static bool counter_is_short(const struct call *call, struct annot_event *ret_value)
{
    if (!call_is_short(call, 2) || !PyUnicode_CheckExact(call->args[0]))
        return false;
    if (PyFloat_CheckExact(call->args[1])) {
        ret_value->payload_kind = ANNOT_PAYLOAD_DOUBLE;
        ret_value->payload.float64 = PyFloat_AS_DOUBLE(call->args[1]);
        return true;
    }
    int overflow = 1;
    if (PyLong_CheckExact(call->args[1])) {
        ret_value->payload_kind = ANNOT_PAYLOAD_INT64;
        ret_value->payload.int64 = PyLong_AsLongLongAndOverflow(call->args[1], &overflow);
    }
    return overflow == 0;
}

/* Emits the value under a cached name. 0, or -1 with an exception. */
static int counter_short(struct state *state, PyObject *name, struct annot_event *value)
{
    struct annotation *annotation = annotation_of_name(state, name);
    if (annotation == NULL)
        return -1;
    value->name = annotation_name_id(annotation);
    value->text = annotation->event.text;
    if (value->name != 0 && value->payload_kind == ANNOT_PAYLOAD_INT64)
        annot_emit_counter_int(value->name, value->payload.int64);
    else if (value->name != 0)
        annot_emit_counter_name(value->name, value->payload.float64);
    else
        annot_emit_counter_event(value);
    Py_DECREF(annotation);
    return 0;
}

static PyObject *function_counter(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                  PyObject *names)
{
    struct state *state = PyModule_GetState(module);
    struct call call = {args, count, names};
    struct annot_event value = {0};
    if (counter_is_short(&call, &value)) {
        if (annot_enabled() && counter_short(state, args[0], &value) < 0)
            return NULL;
        Py_RETURN_NONE;
    }
    PyObject *values[ARGUMENT_COUNT];
    if (arguments_parse(state, &counter_signature, &call, values) < 0)
        return NULL;
    struct annotation *annotation = annotation_create(state, values);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled()) {
        annotation_name_id(annotation);
        annot_emit_counter_event(&annotation->event);
    }
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* start(annotation) is for the decorators; start("name", ...) for everybody. */
static PyObject *function_start(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *names)
{
    struct state *state = PyModule_GetState(module);
    struct call call = {args, count, names};
    struct annotation *annotation;
    if (call_is_short(&call, 1) && Py_IS_TYPE(args[0], state->annotate_type))
        annotation = (struct annotation *)Py_NewRef(args[0]);
    else
        annotation = annotation_of_call(state, &start_signature, &call);
    if (annotation == NULL)
        return NULL;
    annot_range range = annot_enabled() ? emit_start(annotation) : 0;
    Py_DECREF(annotation);
    return PyLong_FromUnsignedLongLong(range);
}

static PyObject *function_end(PyObject *module, PyObject *range)
{
    (void)module;
    if (!PyLong_Check(range)) {
        PyErr_Format(PyExc_TypeError, "range must be int, not %.100s", Py_TYPE(range)->tp_name);
        return NULL;
    }
    unsigned long long id = PyLong_AsUnsignedLongLong(range);
    if (PyErr_Occurred())
        return NULL;
    annot_end(id);
    Py_RETURN_NONE;
}

static PyObject *function_name_process(PyObject *module, PyObject *name)
{
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), name);
    if (annotation == NULL)
        return NULL;
    annot_name_process(annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *function_name_thread(PyObject *module, PyObject *name)
{
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), name);
    if (annotation == NULL)
        return NULL;
    annot_name_thread(annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *function_enabled(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyBool_FromLong(annot_enabled());
}

static PyObject *function_status(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyUnicode_DecodeUTF8(annot_status(), (Py_ssize_t)strlen(annot_status()), "replace");
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

PyMethodDef functions_table[] = {
    {"push", WITH_KEYWORDS(function_push), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("push(name, *, domain=None, category=None, color=None, payload=None, level=0)\n"
               "--\n\nOpen a range on the calling thread; pop() closes it.")},
    {"pop", function_pop, METH_NOARGS,
     PyDoc_STR("pop()\n--\n\nClose the calling thread's innermost open range.")},
    {"mark", WITH_KEYWORDS(function_mark), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("mark(name, *, domain=None, category=None, color=None, payload=None, level=0)\n"
               "--\n\nRecord one instant on the calling thread.")},
    {"counter", WITH_KEYWORDS(function_counter), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("counter(name, value, *, domain=None, category=None, color=None, level=0)\n"
               "--\n\nSet a counter of this process to a number.")},
    {"start", WITH_KEYWORDS(function_start), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("start(name, *, domain=None, category=None, color=None, payload=None, level=0)\n"
               "--\n\nOpen a range that may overlap others and end on any thread of this\n"
               "process. Returns its id for end(); 0 while nobody records.")},
    {"end", function_end, METH_O,
     PyDoc_STR("end(range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"name_process", function_name_process, METH_O,
     PyDoc_STR("name_process(name, /)\n--\n\nName this process in every output.")},
    {"name_thread", function_name_thread, METH_O,
     PyDoc_STR("name_thread(name, /)\n--\n\nName the calling thread in every output.")},
    {"enabled", function_enabled, METH_NOARGS,
     PyDoc_STR("enabled()\n--\n\nWhether anybody records now.")},
    {"status", function_status, METH_NOARGS,
     PyDoc_STR("status()\n--\n\nWhy this process does not record, or 'recording'.")},
    {NULL, NULL, 0, NULL},
};
