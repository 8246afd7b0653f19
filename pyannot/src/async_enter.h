/* SPDX-License-Identifier: MIT */
/* `async with annotate("load"):`. What awaits inside gives its thread to others, so it is a range
 * of the process, not of the thread. One annotation serves any number of tasks at once: which range
 * a statement opened is kept in a context variable, of which each task has its own value. Threads:
 * any. */
#ifndef PYANNOT_ASYNC_ENTER_H
#define PYANNOT_ASYNC_ENTER_H

#include "annotation.h"
#include "state.h"

/* Makes the context variable. 0, or -1 with an exception. */
int async_enter_install(struct state *state);

/* Opens a range. 0, or -1 with an exception and nothing opened. */
int async_enter(struct state *state, struct annotation *annotation);

/* The range that this statement opened; 0: none was, as nobody recorded. 0, or -1 with an
 * exception. */
int async_leave(struct state *state, struct annotation *annotation, annot_range *ret_range);

/* ---- What it awaits -------------------------------------------------------------------------- */

/* What __aenter__ and __aexit__ return: an awaitable that has its result already, so that `async
 * with` does not give the loop away. Threads: any. */

/* Takes over `value`. New reference, or NULL with an exception. */
PyObject *ready_create(struct state *state, PyObject *value);

#endif
