/* SPDX-License-Identifier: MIT */
/* What push(), mark(), counter() and so on are called on: the module, or a domain. The same code
 * serves both. Threads: any. */
#ifndef PYANNOT_SCOPE_H
#define PYANNOT_SCOPE_H

#include "annotation.h"
#include "arguments.h"

/* The Python class `domain`. Constant after creation but for the cache. */
struct domain {
    PyObject_HEAD PyObject *name;
    uint16_t observer, role; /* who tells its events, and as what; 0: the program */
    struct name_cache names; /* of annotations in this domain that have nothing but a name */
};

struct scope {
    struct state *state;
    struct domain *domain; /* NULL: the module */
};

/* The annotation that a call describes: from the cache if it is a name and nothing else. New
 * reference, or NULL with an exception. */
struct annotation *scope_annotation(const struct scope *scope, const struct signature *signature,
                                    const struct call *call);

/* The Python functions. */
PyObject *scope_annotate(const struct scope *scope, const struct call *call);
PyObject *scope_push(const struct scope *scope, const struct call *call);
PyObject *scope_mark(const struct scope *scope, const struct call *call);
PyObject *scope_counter(const struct scope *scope, const struct call *call);
PyObject *scope_start(const struct scope *scope, const struct call *call);

/* pop() and end() are the same everywhere. */
PyObject *scope_pop(PyObject *self, PyObject *ignored);
PyObject *scope_end(PyObject *self, PyObject *range);

/* observed_domain(name, observer, role): a domain whose events an observer tells, by the numbers of
 * annot/observers.h. For pyannot's own parts. */
PyObject *scope_observed_domain(PyObject *module, PyObject *args);

/* The class `domain`: new reference, or NULL with an exception. */
PyTypeObject *domain_type_create(PyObject *module);

#endif
