/* SPDX-License-Identifier: MIT */
/* A small recording with samples and waits that has every kind of frame, for tests of outputs. */
#ifndef ANNOT_SAMPLED_TRACE_H
#define ANNOT_SAMPLED_TRACE_H

#include "trace_maker.h"

/* The caller destroys it. */
struct maker *sampled_trace_create(void);

#endif
