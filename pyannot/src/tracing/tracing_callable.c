/* SPDX-License-Identifier: MIT */
/* Names of callables that are not written in Python.
 *
 * They are read from the interpreter's own types, which runs no code. Names of permanent callables
 * are cached by address. Threads: with the interpreter's lock; without one each has its own
 * cache. */
#include "tracing_callable.h"
#include "tracing.h"
#include "tracing_state.h"
#include "tracing_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 1024, TEXT_MAX = 512 };

struct trace_callable {
    const void *method, *owner;
    uint64_t least_ns;
    annot_name name;
};

/* Returns the cache of KEPT_MAX names. NULL: no memory. */
static struct trace_callable *kept_names(void)
{
#if PYANNOT_FREE_THREADED
    if (trace_self->callables == NULL)
        trace_self->callables = calloc(KEPT_MAX, sizeof(*trace_self->callables));
    return trace_self->callables;
#else
    static struct trace_callable kept[KEPT_MAX];
    return kept;
#endif
}

/* Returns the type that has the method; NULL for functions of modules. */
static PyTypeObject *owner_of(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_common.d_type;
    if (PyCFunction_Check(callable)) {
        PyObject *self = PyCFunction_GET_SELF(callable);
        if (self == NULL || PyModule_Check(self))
            return NULL;
        return PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
    }
    return PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
}

static const PyMethodDef *method_of(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_method;
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml : NULL;
}

/* Returns the module of a function; "" for builtins, or if it is unknown. */
static const char *module_of(PyObject *callable)
{
    PyObject *module = ((PyCFunctionObject *)callable)->m_module;
    const char *text = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : "";
    if (text == NULL)
        PyErr_Clear();
    return text != NULL && strcmp(text, "builtins") != 0 ? text : "";
}

/* Minimum duration of recorded calls. */
static uint64_t least_ns(void)
{
    return trace_now.options.mode == TRACE_EXACT ? trace_now.options.least_ns : 0;
}

static annot_name find_name(PyObject *callable, const PyMethodDef *method,
                            const PyTypeObject *owner)
{
    char text[TEXT_MAX];
    const char *first = owner ? owner->tp_name : module_of(callable);
    const char *last = method ? method->ml_name : PyType_Check(callable) ? "" : "__call__";
    (void)snprintf(text, sizeof(text), "%s%s%s", first, *first && *last ? "." : "", last);
    return annot_code_name_least(text, "", 0, ANNOT_CODE_C, least_ns());
}

annot_name trace_callable_name(PyObject *callable)
{
    PyTypeObject *owner = owner_of(callable);
    const PyMethodDef *method = method_of(callable);
    bool stays = !(owner && owner->tp_flags & Py_TPFLAGS_HEAPTYPE) && (owner || method);
    uintptr_t mixed = ((uintptr_t)method ^ (uintptr_t)owner << 1) * UINT64_C(0x9e3779b97f4a7c15);
    struct trace_callable *names = stays ? kept_names() : NULL;
    struct trace_callable *kept = names ? &names[(mixed >> 48) % KEPT_MAX] : NULL;
    if (kept != NULL && kept->method == method && kept->owner == owner &&
        kept->least_ns == least_ns())
        return kept->name;
    annot_name name = find_name(callable, method, owner);
    if (kept != NULL)
        *kept = (struct trace_callable){method, owner, least_ns(), name};
    return name;
}
