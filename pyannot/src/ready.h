/* SPDX-License-Identifier: MIT */
/* What __aenter__ and __aexit__ return: an awaitable that has its result already, so that `async
 * with` does not give the loop away. Threads: any. */
#ifndef PYANNOT_READY_H
#define PYANNOT_READY_H

#include "state.h"

/* Takes over `value`. New reference, or NULL with an exception. */
PyObject *ready_create(struct state *state, PyObject *value);

#endif
