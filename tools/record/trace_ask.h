/* SPDX-License-Identifier: MIT */
/* Tracing of calls and lines in processes that run: `annot set`, `annot attach`.
 * Thread-safety: main thread only. */
#ifndef ANNOT_TRACE_ASK_H
#define ANNOT_TRACE_ASK_H

#include "record_options.h"
#include "tracing_options.h"

#include <stdint.h>

/* Whether any of it was asked for, to be traced or to be so no longer. */
bool trace_ask_wanted(const struct tracing_values *values);
/* Whether it is to be traced. */
bool trace_ask_is_on(const struct tracing_values *values);
/* As tracing_check, with the word "off". */
int trace_ask_check(const struct tracing_values *values, int status);

struct trace_ask {
    const struct tracing_values *values; /* NULL: nothing */
    const char *ranges; /* patterns of functions that are to be traced at least; NULL: none */
    int32_t pid;
    bool enters; /* loads pyannot into an interpreter that has none */
    bool notes;  /* what it does then is a message, not output */
    bool quiet;  /* nothing is said of what it does, nor that it has no pyannot */
};

/* Has the process trace this and nothing else. 0, or CMD_FAILED: a message says why, but for
 * `quiet`. Waits up to seconds. */
int trace_ask(const struct trace_ask *ask);

#endif
