/* SPDX-License-Identifier: MIT */
/* A small recording in which all that has a name has names that no format may stumble over: quotes,
 * markup, separators, control characters, what is no UTF-8, a megabyte. Thread-safety: none. */
#ifndef ANNOT_HOSTILE_TRACE_H
#define ANNOT_HOSTILE_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *hostile_trace_create(void);

#endif
