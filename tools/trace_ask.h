/* SPDX-License-Identifier: MIT */
/* Tracing of calls and lines in processes that run: `annot set`, `annot attach`.
 * Thread-safety: main thread only. */
#ifndef ANNOT_TRACE_ASK_H
#define ANNOT_TRACE_ASK_H

#include "record_options.h"

#include <stdint.h>

/* Whether any of it was asked for, to be traced or to be so no longer. */
bool trace_ask_wanted(const struct tracing_values *values);
/* Whether it is to be traced. */
bool trace_ask_is_on(const struct tracing_values *values);
/* As tracing_check, with the word "off". */
int trace_ask_check(const struct tracing_values *values, int status);

struct trace_ask {
    const struct tracing_values *values; /* NULL: no longer */
    int32_t pid;
    bool enters; /* loads pyannot into an interpreter that has none */
    bool quiet;  /* says nothing of success, nor of a process without pyannot */
};

/* Has the process trace this and nothing else, and prints what it does then. 0; 1: it has no
 * pyannot; CMD_FAILED: a message says why. Waits up to seconds. */
enum { TRACE_ASK_NONE = -1 };

int trace_ask(const struct trace_ask *ask);

#endif
