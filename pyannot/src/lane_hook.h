/* SPDX-License-Identifier: MIT */
/* The hooks of a lane; see lane.h. */
#ifndef PYANNOT_LANE_HOOK_H
#define PYANNOT_LANE_HOOK_H

#include "lane.h"

struct lane_hook_options {
    struct lane *lane;
    PyObject *function; /* what is called */
    PyObject *owner;    /* with this in front, held weakly; or NULL */
};

/* New reference, or NULL with an exception. Kinds:
 *   "receive"  Connection._recv_bytes: bytes have come in
 *   "task"     a worker's queue.get
 *   "answer"   a worker's queue.put
 *   "assign"   a parent hands a task over
 *   "result"   a parent takes a result
 *   "submit"   a parent's queue of work ids takes one
 * With lanes of thread pools: "task", "answer", "assign", "result". */
PyObject *lane_hook_create(PyTypeObject *type, const char *kind,
                           const struct lane_hook_options *options);

/* New references, or NULL with an exception. */
PyTypeObject *lane_hook_type_create(PyObject *module);

#endif
