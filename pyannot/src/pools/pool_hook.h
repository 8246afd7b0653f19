/* SPDX-License-Identifier: MIT */
/* The hooks of a side: see pool_side.h. Threads: those of the side. */
#ifndef ANNOT_POOL_HOOK_H
#define ANNOT_POOL_HOOK_H

#include "pool_side.h"

#include <stdint.h>

struct pool_side;

/* The flow of a task. Flows of a pool are neighbours, which a recording writes in few bytes. */
static inline annot_flow pool_side_flow(const struct pool_side *side, uint64_t number)
{
    annot_flow flow = side->scope + number;
    return flow ? flow : 1;
}

struct pool_hook_options {
    struct pool_side *side;
    PyObject *function; /* the original */
    PyObject *owner;    /* its first argument, held weakly; or NULL */
};

/* New reference, or NULL with an exception. Kinds:
 *   "receive"  Connection._recv_bytes: bytes have come in
 *   "task"     a worker's queue.get
 *   "answer"   a worker's queue.put
 *   "assign"   a parent hands a task over
 *   "result"   a parent takes a result
 *   "submit"   a parent's queue of work ids takes one
 * With sides of thread pools: "task", "answer", "assign", "result". */
PyObject *pool_hook_create(PyTypeObject *type, const char *kind,
                           const struct pool_hook_options *options);

/* New references, or NULL with an exception. */
PyTypeObject *pool_hook_type_create(PyObject *module);

#endif
