/* SPDX-License-Identifier: MIT */
/* See scope.h. Arguments are checked also while nobody records, so that a wrong call shows itself
 * without a recorder; what happens inside libannot never raises. */
#include "scope.h"

#include "annotation_emit.h"
#include "decorate.h"
#include "str_text.h"
#include "task.h"

static const struct signature annotate_signature = {"annotate", {ARGUMENT_NAME}, 1, 0, false, NULL};
static const struct signature push_signature = {"push", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature mark_signature = {"mark", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature start_signature = {
    "start", {ARGUMENT_NAME}, 1, 1, false, "to begin a recording, call start_recording(path)"};
static const struct signature counter_signature = {
    "counter", {ARGUMENT_NAME, ARGUMENT_VALUE}, 2, 2, true, NULL};

static struct name_cache *cache_of(const struct scope *scope)
{
    return scope->domain ? &scope->domain->names : &scope->state->names;
}

static PyObject *domain_name(const struct scope *scope)
{
    return scope->domain ? scope->domain->name : NULL;
}

/* push(), mark() and start() take an object of annotate() as well. */
static bool is_annotation(const struct scope *scope, const struct signature *signature,
                          const struct call *call)
{
    return scope->state != NULL && signature->required_count == 1 && call_is_short(call, 1) &&
           Py_IS_TYPE(call->args[0], scope->state->annotate_type) &&
           ((struct annotation *)call->args[0])->text != NULL;
}

struct annotation *scope_annotation(const struct scope *scope, const struct signature *signature,
                                    const struct call *call)
{
    struct arguments arguments;
    if (is_annotation(scope, signature, call))
        return (struct annotation *)Py_NewRef(call->args[0]);
    bool is_short = scope->state != NULL && signature->positional_count == 1 &&
                    call_is_short(call, 1) && PyUnicode_Check(call->args[0]);
    struct annotation *annotation =
        is_short ? name_cache_find(cache_of(scope), call->args[0]) : NULL;
    if (annotation != NULL)
        return annotation;
    if (arguments_parse(&arguments, scope->state, signature, call, domain_name(scope)) < 0)
        return NULL;
    if (signature->required_count > 0 && arguments.values[ARGUMENT_NAME] == Py_None) {
        text_type_error("name", "str", Py_None);
        return NULL;
    }
    annotation = annotation_create(scope->state, &arguments);
    if (annotation != NULL && is_short)
        name_cache_add(cache_of(scope), annotation);
    return annotation;
}

/* annotate("load"), annotate(), and annotate(function), which is @annotate. */
PyObject *scope_annotate(const struct scope *scope, const struct call *call)
{
    static PyObject *const none[1];
    const struct call nameless = {none, 0, NULL};
    if (!call_is_short(call, 1) || !decorate_takes(call->args[0]))
        return (PyObject *)scope_annotation(scope, &annotate_signature, call);
    PyObject *annotation = (PyObject *)scope_annotation(scope, &annotate_signature, &nameless);
    PyObject *wrapper = annotation ? decorate(annotation, call->args[0]) : NULL;
    Py_XDECREF(annotation);
    return wrapper;
}

PyObject *scope_push(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &push_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && !task_push(scope->state, annotation))
        emit_push(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* Of the module, or of a domain. */
static struct state *scope_state(PyObject *self)
{
    return PyModule_Check(self) ? PyModule_GetState(self) : state_of_type(Py_TYPE(self));
}

PyObject *scope_pop(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (!task_is_watched() || !annot_enabled() || !task_pop(scope_state(self)))
        annot_pop();
    Py_RETURN_NONE;
}

PyObject *scope_mark(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &mark_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && !task_mark(scope->state, annotation))
        emit_mark(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* counter("queue", 3) with an int of 64 bits or a float; any other call goes the long way. */
static bool counter_is_short(const struct scope *scope, const struct call *call,
                             struct annot_event *ret_value)
{
    if (scope->domain != NULL || !call_is_short(call, 2) || !PyUnicode_CheckExact(call->args[0]))
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

PyObject *scope_counter(const struct scope *scope, const struct call *call)
{
    struct annot_event value = {0};
    if (counter_is_short(scope, call, &value)) {
        if (annot_enabled() && counter_short(scope->state, call->args[0], &value) < 0)
            return NULL;
        Py_RETURN_NONE;
    }
    struct annotation *annotation = scope_annotation(scope, &counter_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && annotation_says_something(annotation)) {
        annotation_name_id(annotation);
        annot_emit_counter_event(&annotation->event);
    }
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* ---- Ranges of the process ------------------------------------------------------------------- */

PyObject *scope_start(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &start_signature, call);
    if (annotation == NULL)
        return NULL;
    annot_range range = annot_enabled() ? emit_start(annotation) : 0;
    Py_DECREF(annotation);
    return PyLong_FromUnsignedLongLong(range);
}

PyObject *scope_end(PyObject *self, PyObject *range)
{
    (void)self;
    if (!PyLong_Check(range)) {
        text_type_error("range", "int", range);
        return NULL;
    }
    unsigned long long id = PyLong_AsUnsignedLongLong(range);
    if (PyErr_Occurred())
        return NULL;
    annot_end(id);
    Py_RETURN_NONE;
}
