/* SPDX-License-Identifier: MIT */
/* Facts about a pool, as marks in the recording. Threads: any. */
#ifndef ANNOT_POOL_FACTS_H
#define ANNOT_POOL_FACTS_H

#include "pool_side.h"

struct annot_value;
struct pool_side;

/* Marks the facts of the pool, or this thread as a worker of it: once in each recording. */
void pool_facts_emit(struct pool_side *side);
void pool_facts_emit_worker(struct pool_side *side);

/* The pool's number, as a key-value. */
struct annot_value pool_facts_value(const struct pool_side *side);

/* Methods of the class pool_side. */
PyObject *pool_facts_made(PyObject *self, PyObject *args);
PyObject *pool_facts_joined(PyObject *self, PyObject *ignored);
PyObject *pool_facts_call(PyObject *self, PyObject *args);
PyObject *pool_facts_called(PyObject *self, PyObject *call);

#endif
