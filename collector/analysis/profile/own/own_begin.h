/* SPDX-License-Identifier: MIT */
/* Start of programs, in own times.
 *
 * Start-up is the code that runs before the main module begins. The same functions are called
 * later, too, and then work for their callers. Thread-safety: pure functions. */
#ifndef ANNOT_OWN_BEGIN_H
#define ANNOT_OWN_BEGIN_H

#include "own_parts.h"

/* Fills in `labels`, by label. Returns an array by stack, true if the innermost frame is start-up;
 * the caller frees it. NULL: out of memory. */
bool *own_begin_stacks(const struct trace *trace, struct own_label *labels);

/* Returns an array by stack, true if all its samples are from processes of the command's start
 * (launch.h); the caller frees it. NULL: out of memory. */
bool *own_launch_stacks(const struct own_sums *sums);

/* Returns true if a Python function is on the stack. */
bool own_begin_has_python(const struct stacks *stacks, uint32_t stack);

#endif
