/* SPDX-License-Identifier: MIT */
/* A recording with samples of several sets, with known sums: CPU time, stretches off the CPU,
 * allocations with their addresses, intervals of a call tree, a temperature. */
#ifndef ANNOT_SETS_TRACE_H
#define ANNOT_SETS_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *sets_trace_create(void);

#endif
