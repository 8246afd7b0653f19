/* SPDX-License-Identifier: MIT */
/* A recording with lines that were counted, with known sums: a short function and a long one of own
 * code, another of an installed package whose text is not there. */
#ifndef ANNOT_LINES_TRACE_H
#define ANNOT_LINES_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *lines_trace_create(void);

#endif
