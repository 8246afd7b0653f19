/* SPDX-License-Identifier: MIT */
/* A recording of key-values, flows, tracks, units, logs, and a last word, with every case that is
 * difficult for an export. Thread-safety: none. */
#ifndef ANNOT_TOOLKIT_TRACE_H
#define ANNOT_TOOLKIT_TRACE_H

#include "trace_maker.h"

struct maker *toolkit_trace_create(void);

#endif
