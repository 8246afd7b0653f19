/* SPDX-License-Identifier: MIT */
/* A recording of what programs tell beside ranges: key-values, flows, tracks, units, logs, a last
 * word; with every case that an export can get wrong. Thread-safety: none. */
#ifndef ANNOT_TOOLKIT_TRACE_H
#define ANNOT_TOOLKIT_TRACE_H

#include "trace_maker.h"

struct maker *toolkit_trace_create(void);

#endif
