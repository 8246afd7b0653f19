/* SPDX-License-Identifier: MIT */
/* Facts of a recording about options of the command that made it. Thread-safety: as the trace. */
#ifndef ANNOT_TRACE_OPTIONS_H
#define ANNOT_TRACE_OPTIONS_H

#include "trace.h"

/* The FACT_COUNT of Python functions with traced calls or lines; in each process. */
#define TRACE_FACT_TRACED "functions of Python traced"

/* Prefix of FACT_NOTEs: an option of `annot record` without effect, and the reason. */
#define TRACE_FACT_IDLE_OPTION "option without effect: "

uint32_t trace_idle_option_count(const struct trace *trace);

#endif
