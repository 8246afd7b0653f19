/* SPDX-License-Identifier: MIT */
/* Facts about a task of a pool: its number, and the user's function inside of the library's
 * wrappers. The shapes are those of multiprocessing.pool, concurrent.futures.process and joblib;
 * other objects are taken as they are.
 *
 * Reads without calling code of the user's where possible, and drops exceptions, which a name is
 * not worth. */
#include "pool_task.h"

#include "pool_side.h"

#include <string.h>

enum { UNWRAP_MAX = 8 };

static bool number_read(PyObject *object, uint64_t *ret_number)
{
    if (!PyLong_CheckExact(object))
        return false;
    *ret_number = PyLong_AsUnsignedLongLong(object);
    if (*ret_number != UINT64_MAX || !PyErr_Occurred())
        return true;
    PyErr_Clear();
    return false;
}

/* (job, index, function, args, keywords), or a result: (job, index, value). */
static bool tuple_read(PyObject *object, struct pool_task *ret_task)
{
    uint64_t job, index;
    Py_ssize_t size = PyTuple_GET_SIZE(object);
    if ((size != 3 && size != 5) || !number_read(PyTuple_GET_ITEM(object, 0), &job))
        return false;
    if (!number_read(PyTuple_GET_ITEM(object, 1), &index))
        index = 0; /* of a job with one task */
    ret_task->number = job << 32 ^ index;
    if (size == 5) {
        ret_task->function = PyTuple_GET_ITEM(object, 2);
        ret_task->args = PyTuple_GET_ITEM(object, 3);
    }
    return true;
}

/* A value of the object's own dictionary, borrowed from it. */
static PyObject *own_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    bool kept = Py_REFCNT(value) > 1;
    Py_DECREF(value);
    return kept ? value : NULL;
}

bool pool_task_read(PyObject *object, struct pool_task *ret_task)
{
    *ret_task = (struct pool_task){0};
    if (PyTuple_CheckExact(object))
        return tuple_read(object, ret_task);
    if (object == Py_None || PyLong_CheckExact(object))
        return false;
    PyObject *number = PyObject_GetAttrString(object, "work_id");
    if (number == NULL) {
        PyErr_Clear();
        return false;
    }
    bool known = number_read(number, &ret_task->number);
    Py_DECREF(number);
    ret_task->function = own_attribute(object, "fn");
    ret_task->args = own_attribute(object, "args");
    return known;
}

void pool_task_of_item(PyObject *item, struct pool_task *ret_task)
{
    *ret_task = (struct pool_task){.function = own_attribute(item, "fn")};
    if (ret_task->function != NULL) {
        ret_task->args = own_attribute(item, "args");
        return;
    }
    PyObject *call = own_attribute(item, "task"); /* from 3.14 on */
    bool is_tuple = call != NULL && PyTuple_CheckExact(call) && PyTuple_GET_SIZE(call) > 1;
    ret_task->function = is_tuple ? PyTuple_GET_ITEM(call, 0) : call;
    ret_task->args = is_tuple ? PyTuple_GET_ITEM(call, 1) : NULL;
}

PyObject *pool_side_answer_error(PyObject *answer)
{
    PyObject *error = NULL;
    if (PyTuple_CheckExact(answer)) { /* (job, index, (is_good, value)) */
        PyObject *result = PyTuple_GET_SIZE(answer) == 3 ? PyTuple_GET_ITEM(answer, 2) : NULL;
        if (result != NULL && PyTuple_CheckExact(result) && PyTuple_GET_SIZE(result) == 2 &&
            PyTuple_GET_ITEM(result, 0) == Py_False)
            error = Py_NewRef(PyTuple_GET_ITEM(result, 1));
    } else {
        error = PyObject_GetAttrString(answer, "exception");
    }
    if (error == NULL || error == Py_None) {
        PyErr_Clear();
        Py_XDECREF(error);
        return NULL;
    }
    if (PyExceptionInstance_Check(error))
        return error;
    PyObject *inner = PyObject_GetAttrString(error, "exc"); /* with the text of its traceback */
    PyErr_Clear();
    Py_DECREF(error);
    return inner;
}

/* ---- The function inside --------------------------------------------------------------------- */

/* A call that is being unwrapped; new references. */
struct unwrapping {
    PyObject *function;
    PyObject *bound; /* a partial's arguments before `args`, or NULL */
    PyObject *args;  /* or NULL: unknown */
    Py_ssize_t chunk;
};

/* Positional argument `index` of the call, borrowed, or NULL. */
static PyObject *argument_at(const struct unwrapping *at, Py_ssize_t index)
{
    Py_ssize_t bound = at->bound ? PyTuple_GET_SIZE(at->bound) : 0;
    if (index < bound)
        return PyTuple_GET_ITEM(at->bound, index);
    if (at->args == NULL || !PyTuple_CheckExact(at->args) ||
        index - bound >= PyTuple_GET_SIZE(at->args))
        return NULL;
    return PyTuple_GET_ITEM(at->args, index - bound);
}

/* Continues with `function`, with unknown arguments. */
static bool step_into(struct unwrapping *at, PyObject *function)
{
    if (function == NULL)
        return false;
    Py_INCREF(function);
    Py_SETREF(at->function, function);
    Py_CLEAR(at->bound);
    Py_CLEAR(at->args);
    return true;
}

static Py_ssize_t size_of(PyObject *object)
{
    if (PyTuple_CheckExact(object))
        return PyTuple_GET_SIZE(object);
    return PyList_CheckExact(object) ? PyList_GET_SIZE(object) : 0;
}

/* mapstar((function, items)) and starmapstar. */
static bool unwrap_star(struct unwrapping *at)
{
    PyObject *batch = argument_at(at, 0);
    if (batch == NULL || !PyTuple_CheckExact(batch) || PyTuple_GET_SIZE(batch) != 2)
        return false;
    at->chunk = size_of(PyTuple_GET_ITEM(batch, 1));
    return step_into(at, PyTuple_GET_ITEM(batch, 0));
}

/* _process_chunk(function, items). */
static bool unwrap_chunk(struct unwrapping *at)
{
    PyObject *items = argument_at(at, 1);
    at->chunk = items ? size_of(items) : 0;
    return step_into(at, argument_at(at, 0));
}

static bool unwrap_partial(struct unwrapping *at)
{
    PyObject *function = PyObject_GetAttrString(at->function, "func");
    PyObject *bound = function ? PyObject_GetAttrString(at->function, "args") : NULL;
    PyErr_Clear();
    if (bound == NULL || !PyTuple_CheckExact(bound)) {
        Py_XDECREF(function);
        Py_XDECREF(bound);
        return false;
    }
    if (at->bound != NULL) { /* two in a row: the function is still known, its arguments are not */
        step_into(at, function);
        Py_DECREF(function);
        Py_DECREF(bound);
        return true;
    }
    Py_SETREF(at->function, function);
    at->bound = bound;
    return true;
}

/* contextvars.Context.run, by which asyncio.to_thread calls a function. */
static bool is_context_run(PyObject *function)
{
    PyObject *self = PyCFunction_Check(function) ? PyCFunction_GET_SELF(function) : NULL;
    return self != NULL && PyContext_CheckExact(self) &&
           strcmp(((PyCFunctionObject *)function)->m_ml->ml_name, "run") == 0;
}

/* joblib's batch of calls: a list of (function, args, keywords). */
static bool unwrap_batch(struct unwrapping *at)
{
    PyObject *items = PyObject_GetAttrString(at->function, "items");
    bool found = false;
    if (items != NULL && PyList_CheckExact(items) && PyList_GET_SIZE(items) > 0 &&
        PyTuple_Check(PyList_GET_ITEM(items, 0)) && size_of(PyList_GET_ITEM(items, 0)) > 0) {
        at->chunk = PyList_GET_SIZE(items);
        found = step_into(at, PyTuple_GET_ITEM(PyList_GET_ITEM(items, 0), 0));
    }
    PyErr_Clear();
    Py_XDECREF(items);
    return found;
}

/* An object that holds the function under a name. */
static bool unwrap_attribute(struct unwrapping *at, const char *name)
{
    PyObject *function = PyObject_GetAttrString(at->function, name);
    if (function == NULL) {
        PyErr_Clear();
        return false;
    }
    step_into(at, function);
    Py_DECREF(function);
    return true;
}

static bool is_one_of(PyObject *object, PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == object)
            return true;
    return false;
}

static bool is_type_named(PyObject *object, const char *name)
{
    const char *full = Py_TYPE(object)->tp_name;
    const char *dot = strrchr(full, '.');
    return strcmp(dot ? dot + 1 : full, name) == 0;
}

/* Removes one layer; false if there is no layer. */
static bool unwrap(const struct pool_side *side, struct unwrapping *at)
{
    if (is_one_of(at->function, side->stars))
        return unwrap_star(at);
    if (is_one_of(at->function, side->chunkers))
        return unwrap_chunk(at);
    if (is_context_run(at->function))
        return step_into(at, argument_at(at, 0));
    if (PyFunction_Check(at->function) || PyCFunction_Check(at->function))
        return false;
    if (is_type_named(at->function, "partial"))
        return unwrap_partial(at);
    if (is_type_named(at->function, "BatchedCalls"))
        return unwrap_batch(at);
    if (is_type_named(at->function, "_TracebackCapturingWrapper"))
        return unwrap_attribute(at, "func");
    if (is_type_named(at->function, "CloudpickledCallableWrapper"))
        return unwrap_attribute(at, "_obj");
    return false;
}

struct pool_function pool_function_find(const struct pool_side *side, const struct pool_task *task)
{
    struct unwrapping at = {
        .function = Py_NewRef(task->function),
        .args = task->args ? Py_NewRef(task->args) : NULL,
    };
    for (int i = 0; i < UNWRAP_MAX && unwrap(side, &at); i++) {
    }
    Py_XDECREF(at.bound);
    Py_XDECREF(at.args);
    return (struct pool_function){at.function, at.chunk};
}

/* True if reading an attribute only looks into the object: a __getattr__ of the program's may do
 * anything, for instance call another machine. */
static bool has_plain_attributes(PyObject *object)
{
    return Py_TYPE(object)->tp_getattro == PyObject_GenericGetAttr || PyType_Check(object) ||
           PyMethod_Check(object) || PyCFunction_Check(object);
}

PyObject *pool_function_name(PyObject *function)
{
    if (PyFunction_Check(function))
        return Py_NewRef(((PyFunctionObject *)function)->func_qualname);
    PyObject *name = NULL;
    if (has_plain_attributes(function))
        name = PyObject_GetAttrString(function, "__qualname__");
    if (name != NULL && PyUnicode_Check(name))
        return name;
    PyErr_Clear();
    Py_XDECREF(name);
    name = PyObject_GetAttrString((PyObject *)Py_TYPE(function), "__qualname__");
    if (name != NULL && PyUnicode_Check(name))
        return name;
    PyErr_Clear();
    Py_XDECREF(name);
    return PyUnicode_FromString("?");
}
