/* SPDX-License-Identifier: MIT */
/* The text of a W3C traceparent.
 *
 * Threads: any. */
#ifndef ANNOT_TRACE_CONTEXT_H
#define ANNOT_TRACE_CONTEXT_H

#include <stdint.h>

struct trace_context {
    uint64_t trace[2]; /* high, low */
    uint64_t span;
};

/* Writes "00-...-01" and NUL, ANNOT_TRACE_CONTEXT_SIZE bytes. */
void trace_context_write(const struct trace_context *context, char *text);

/* Returns 1, or 0: the text is none. */
int trace_context_read(const char *text, struct trace_context *ret_context);

#endif
