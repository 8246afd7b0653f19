/* SPDX-License-Identifier: MIT */
/* Ranges that work inherits when it is handed to another thread, or to a task of asyncio: those
 * that are open at that point, where the context of contextvars is copied, too. A task keeps them
 * for the threads that work for it.
 * Threads: any. */
#ifndef PYANNOT_INHERITED_H
#define PYANNOT_INHERITED_H

#include "compat.h"
#include "state.h"

#include <annot/annot.h>

/* Limit; the innermost ones are left out. */
enum { INHERITED_MAX = 16 };

struct inherited_range {
    annot_name name;
    annot_domain domain;
};

struct inherited {
    struct inherited_range ranges[INHERITED_MAX]; /* outermost first */
    uint32_t count;
};

/* Gathers the ranges that are open on the calling thread. `state` may be NULL. Only while
 * annot_enabled(). */
void inherited_gather(struct state *state, struct inherited *ret_inherited);

/* The category of such ranges where they are opened again. */
annot_category inherited_category(annot_domain domain);

#define INHERITED_CAPSULE "pyannot.inherited"

/* Returns the content of a capsule that observed_create made; NULL for another object. */
static inline const struct inherited *inherited_of(PyObject *object)
{
    return object != NULL && PyCapsule_IsValid(object, INHERITED_CAPSULE)
               ? PyCapsule_GetPointer(object, INHERITED_CAPSULE)
               : NULL;
}

/* BaseEventLoop.create_task: stores the inherited ranges with the task. */
PyObject *observed_create(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);

#endif
