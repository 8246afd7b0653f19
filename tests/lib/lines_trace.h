/* SPDX-License-Identifier: MIT */
/* A recording of counted lines with known sums: a short and a long function of own code, and one of
 * an installed package without its source. */
#ifndef ANNOT_LINES_TRACE_H
#define ANNOT_LINES_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *lines_trace_create(void);

#endif
