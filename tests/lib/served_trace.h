/* SPDX-License-Identifier: MIT */
/* A small recording of a server and its worker with flows, tracks, key-values, units and a last
 * word, for tests of outputs. */
#ifndef ANNOT_SERVED_TRACE_H
#define ANNOT_SERVED_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *served_trace_create(void);

#endif
