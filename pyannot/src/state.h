/* SPDX-License-Identifier: MIT */
/* The state of one import of pyannot._native: each interpreter has its own.
 * Threads: written at import; afterwards only the name cache changes (see name_cache.h). */
#ifndef PYANNOT_STATE_H
#define PYANNOT_STATE_H

#include "compat.h"
#include "name_cache.h"

/* Order of the arguments that describe an event. */
enum argument {
    ARGUMENT_NAME = 0,
    ARGUMENT_DOMAIN,
    ARGUMENT_CATEGORY,
    ARGUMENT_COLOR,
    ARGUMENT_LEVEL,
    ARGUMENT_PAYLOAD,
    ARGUMENT_VALUE, /* the payload of a counter */
    ARGUMENT_COUNT,
};

struct state {
    PyTypeObject *annotate_type;
    PyTypeObject *function_type;
    PyTypeObject *enter_type;                 /* see enter.c; NULL where not needed */
    struct enter *spare_enter;                /* memory of one freed object */
    PyObject *argument_names[ARGUMENT_COUNT]; /* interned, as call sites pass them */
    struct name_cache names;
};

/* The state of the import that made a type of ours; NULL once the type has been cleared. */
static inline struct state *state_of_type(PyTypeObject *type)
{
    PyObject *module = ((PyHeapTypeObject *)type)->ht_module;
    return module ? PyModule_GetState(module) : NULL;
}

/* False, with a RuntimeError, once the interpreter has cleared the module at its end. */
static inline bool state_is_alive(const struct state *state)
{
    if (__builtin_expect(state != NULL && state->annotate_type != NULL, 1))
        return true;
    PyErr_SetString(PyExc_RuntimeError, "pyannot is being unloaded");
    return false;
}

#endif
