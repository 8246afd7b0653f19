/* SPDX-License-Identifier: MIT */
/* The object of a call of push(), mark(), counter() and so on: the module, or a domain. The same
 * code serves both. Threads: any. */
#ifndef PYANNOT_SCOPE_H
#define PYANNOT_SCOPE_H

#include "annotation.h"
#include "arguments.h"

/* The Python class `domain`. Constant after creation but for the cache. */
struct domain {
    PyObject_HEAD PyObject *name;
    uint16_t observer, role; /* of its events; 0: the program */
    struct name_cache names; /* of annotations in this domain with only a name */
};

struct scope {
    struct state *state;
    struct domain *domain; /* NULL: the module */
};

/* Returns the annotation that a call describes, from the cache if it has only a name. New
 * reference, or NULL with an exception. */
struct annotation *scope_annotation(const struct scope *scope, const struct signature *signature,
                                    const struct call *call);

/* The Python functions. */
PyObject *scope_annotate(const struct scope *scope, const struct call *call);
PyObject *scope_push(const struct scope *scope, const struct call *call);
PyObject *scope_mark(const struct scope *scope, const struct call *call);
PyObject *scope_counter(const struct scope *scope, const struct call *call);
PyObject *scope_start(const struct scope *scope, const struct call *call);

/* pop() and end() are the same for both. */
PyObject *scope_pop(PyObject *self, PyObject *ignored);
PyObject *scope_end(PyObject *self, PyObject *range);

/* observed_domain(name, observer, role): a domain with events of an observer, by the numbers of
 * annot/observers.h. For pyannot's own parts. */
PyObject *scope_observed_domain(PyObject *module, PyObject *args);

/* The class `domain`: new reference, or NULL with an exception. */
PyTypeObject *domain_type_create(PyObject *module);

#endif
