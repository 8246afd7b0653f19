/* SPDX-License-Identifier: MIT */
/* Runs code in an interpreter of CPython 3.14 or later through its interface for debuggers (PEP
 * 768). Thread-safety: one thread. */
#ifndef ANNOT_LOOK_DEBUGGER_H
#define ANNOT_LOOK_DEBUGGER_H

#include "look_enter.h"
#include "look_python.h"

enum { LOOK_NOT_TAKEN = 1 };

/* Does not stop the process. As look_python_run, or LOOK_NOT_TAKEN: it has no such interface, or
 * its main thread does not run Python now. */
int look_debugger_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                      struct look_reason *ret_reason);

#endif
