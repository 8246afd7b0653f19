/* SPDX-License-Identifier: MIT */
/* Recordings of one program with calls counted in three ways, with known numbers. */
#ifndef ANNOT_CALLS_TRACE_H
#define ANNOT_CALLS_TRACE_H

#include "trace_maker.h"

enum calls_trace_way {
    CALLS_TRACE_EXACT,    /* each call is a span */
    CALLS_TRACE_COUNTED,  /* sums at stacks */
    CALLS_TRACE_ADAPTIVE, /* spans; one function is soon no longer counted, but sampled */
};

/* spans; one function soon changes from counted to sampled */
struct maker *calls_trace_create(enum calls_trace_way way);

#endif
