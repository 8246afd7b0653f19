/* SPDX-License-Identifier: MIT */
/* One small recording that has everything a format can stumble over. Thread-safety: none. */
#ifndef ANNOT_SAMPLE_TRACE_H
#define ANNOT_SAMPLE_TRACE_H

#include "trace_maker.h"

struct maker *sample_trace_create(void);

#endif
