/* SPDX-License-Identifier: MIT */
/* A small recording with hostile names everywhere: quotes, markup, separators, control characters,
 * invalid UTF-8, a megabyte. For tests that formats handle them. Thread-safety: none. */
#ifndef ANNOT_HOSTILE_TRACE_H
#define ANNOT_HOSTILE_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *hostile_trace_create(void);

#endif
