/* SPDX-License-Identifier: MIT */
/* Functions that are wanted only inside calls of others: all functions are reported while such a
 * call lasts. Threads: any that is traced. */
#ifndef PYANNOT_TRACING_CALLEES_H
#define PYANNOT_TRACING_CALLEES_H

#include "tracing_code.h"

/* Call this where a call with callees begins: the hook then reports every function. */
void trace_callees_begin(void);
/* Counts a reported call outside of such calls. After enough of them the hook narrows again. */
void trace_callees_missed(struct trace_code *code);
/* Checks for a recording that began in the middle of such a call. */
void trace_callees_check(void);

#endif
