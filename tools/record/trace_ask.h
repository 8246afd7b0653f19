/* SPDX-License-Identifier: MIT */
/* Tracing of calls and lines in running processes: `annot set`, `annot attach`. Thread-safety: main
 * thread only. */
#ifndef ANNOT_TRACE_ASK_H
#define ANNOT_TRACE_ASK_H

#include "record_options.h"
#include "tracing_options.h"

#include <stdint.h>

/* Returns true if an option starts or stops tracing. */
bool trace_ask_wanted(const struct tracing_values *values);
/* Returns true if an option starts tracing. */
bool trace_ask_is_on(const struct tracing_values *values);
/* Like tracing_check, but accepts the word "off". */
int trace_ask_check(const struct tracing_values *values, int status);

struct trace_ask {
    const struct tracing_values *values; /* NULL: stop tracing */
    const char *ranges; /* patterns of functions to trace in any case; NULL: empty */
    int32_t pid;
    bool enters; /* loads pyannot into an interpreter without it */
    bool notes;  /* results are printed as notes, not as output */
    bool quiet;  /* prints neither results nor that pyannot is missing */
};

/* Sets the tracing of a process to exactly these options. 0, or CMD_FAILED after a printed message,
 * which `quiet` suppresses. May wait for seconds. */
int trace_ask(const struct trace_ask *ask);

#endif
