/* SPDX-License-Identifier: MIT */
/* A recording with samples of memory, with known sums of bytes and blocks by function. */
#ifndef ANNOT_HEAP_TRACE_H
#define ANNOT_HEAP_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. heap_trace_more_create: hold() allocates twice as much. */
struct maker *heap_trace_create(void);
struct maker *heap_trace_more_create(void);

#endif
