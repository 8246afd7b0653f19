/* SPDX-License-Identifier: MIT */
/* The state of one import of pyannot._native: each interpreter has its own.
 * Threads: written at import; afterwards only the name cache changes (see annotation.h). */
#ifndef PYANNOT_STATE_H
#define PYANNOT_STATE_H

#include "annotation.h"
#include "compat.h"

#include <stdbool.h>

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

enum { QUICK_ARGUMENTS = 5 };

/* A call as it was made, and its result; all owned. */
struct quick_call {
    PyObject *object; /* NULL: free */
    PyObject *names;
    Py_ssize_t count, length; /* positional arguments; all of them */
    PyObject *args[QUICK_ARGUMENTS];
};

/* Of the class with quick calls: see annotate.c. */
struct quick_calls {
    PyTypeObject *type;
    struct quick_call *calls; /* NAME_CACHE_SIZE; NULL until the class exists */
};

/* Types that most programs never use: see state_type. */
enum later_type {
    TYPE_FUNCTION = 0,
    TYPE_HOLDER, /* see annotation.h */
    TYPE_DOMAIN,
    TYPE_FLOW,
    TYPE_TRACK,
    TYPE_TRACK_RANGE,
    TYPE_FREE_RANGE,
    TYPE_OBSERVED,
    TYPE_POOL_SIDE,
    TYPE_READY, /* see enter.h */
    TYPE_LINK,  /* see enter.c */
    LATER_TYPE_COUNT,
};

/* ---- asyncio (task.h) ------------------------------------------------------------------------ */

struct task_exit;

enum { TASK_EXITS = 2, TASK_AWAIT_NAMES = 9 };

struct task_state {
    PyTypeObject *track_type;
    PyTypeObject *exit_type;
    PyObject *exits[TASK_EXITS]; /* annotate.__exit__ and __aexit__ while tasks are watched */
    PyObject *key;               /* of the track in the task's dictionary */
    PyObject *callback_name;     /* attributes of handles, callbacks and tasks */
    PyObject *self_name;
    PyObject *done_name;
    PyObject *get_coro_name;
    PyObject *waiter_name;
    PyObject *qualname_name;
    PyObject *await_names[TASK_AWAIT_NAMES]; /* attributes of coroutines (task_await.c) */
    PyObject *libraries;                     /* tuple of folders, or NULL: see task_await.c */
    PyObject *types;                         /* tuple of the types of tasks, or NULL */
    PyObject *get_running_loop;              /* asyncio's own functions; NULL: not watching */
    PyObject *current_task;                  /* a function, or (up to 3.11) the dict by loop */
    struct task_exit *spare;                 /* memory of one freed object */
    uint32_t watchers;                       /* of tasks, of greenlets */
};

/* Takes a function of asyncio's, while other threads may stop watching: a new reference, or
 * NULL. */
static inline PyObject *task_part_take(PyObject *const *part)
{
    return Py_XNewRef(__atomic_load_n(part, __ATOMIC_ACQUIRE)); /* partner: task_part_set */
}

/* NULL removes it. Without the lock another thread may be about to take the previous object, so
 * that is never freed: a function of asyncio's, or a small tuple. */
static inline void task_part_set(PyObject **part, PyObject *object)
{
    PyObject *before = *part;
    __atomic_store_n(part, Py_XNewRef(object), __ATOMIC_RELEASE); /* partner: task_part_take */
    if (!PYANNOT_FREE_THREADED)
        Py_XDECREF(before);
}

/* Looks for an attribute; a missing one raises no exception: 1 found, 0 not, -1 with an
 * exception. */
static inline int attribute_find(PyObject *object, PyObject *name, PyObject **ret_value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, ret_value);
#else
    return _PyObject_LookupAttr(object, name, ret_value);
#endif
}

/* ---- The state ------------------------------------------------------------------------------- */

struct state {
    PyObject *module; /* borrowed: it owns this */
    PyTypeObject *annotate_type;
    PyTypeObject *(*type_create)(PyObject *module, enum later_type type); /* new reference */
    PyTypeObject *later_types[LATER_TYPE_COUNT]; /* W: all, swapped in once; NULL: not made yet */
    PyObject *async_open;                        /* see enter.h */
    PyTypeObject *enter_type;                    /* see enter.c; NULL where not needed */
    PyObject *enters[2];                         /* in the dictionaries of the classes, or NULL */
    PyObject *argument_names[ARGUMENT_COUNT];    /* interned, as call sites pass them */
    struct name_cache names;
    struct task_state tasks;
    struct quick_calls quick;
    bool watches_forks;   /* see starts.c */
    bool watches_imports; /* see observed.c */
};

/* An object that the collector does not track hides that it keeps its type alive, and so the
 * module. While all references to it are ours, its type counts as referenced by the module. */
static inline int visit_type_of(PyObject *object, Py_ssize_t ours, visitproc visit, void *arg)
{
    if (object != NULL && Py_REFCNT(object) == ours)
        Py_VISIT(Py_TYPE(object));
    return 0;
}

/* Returns the state of the import that made a type of ours; NULL once the type has been cleared. */
static inline struct state *state_of_type(PyTypeObject *type)
{
    PyObject *module = ((PyHeapTypeObject *)type)->ht_module;
    return module ? PyModule_GetState(module) : NULL;
}

/* Returns false, with a RuntimeError, once the interpreter has cleared the module at its end. */
static inline bool state_is_alive(const struct state *state)
{
    if (__builtin_expect(state != NULL && state->annotate_type != NULL, 1))
        return true;
    PyErr_SetString(PyExc_RuntimeError, "pyannot is being unloaded");
    return false;
}

/* Makes the type on first use (each takes 20 us, too long for an import). Borrowed; NULL with an
 * exception. */
PyTypeObject *state_type_make(struct state *state, enum later_type type);

/* NULL: not made yet, so it has no objects. */
static inline PyTypeObject *state_type_made(const struct state *state, enum later_type type)
{
    return __atomic_load_n(&state->later_types[type], __ATOMIC_ACQUIRE); /* state_type_make */
}

static inline PyTypeObject *state_type(struct state *state, enum later_type type)
{
    PyTypeObject *made = state_type_made(state, type);
    return __builtin_expect(made != NULL, 1) ? made : state_type_make(state, type);
}

#endif
