/* SPDX-License-Identifier: MIT */
/* One small recording with every case that is difficult for a format. Thread-safety: none. */
#ifndef ANNOT_SAMPLE_TRACE_H
#define ANNOT_SAMPLE_TRACE_H

#include "trace_maker.h"

struct maker *sample_trace_create(void);

#endif
