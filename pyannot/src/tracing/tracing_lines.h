/* SPDX-License-Identifier: MIT */
/* Lines that are counted, and the time in each. Threads: each its own counts. */
#ifndef PYANNOT_TRACING_LINES_H
#define PYANNOT_TRACING_LINES_H

#include "tracing_thread.h"

/* The calling thread's innermost frame is one of it and begins; a line of it does; it goes on in
 * the middle of a line; it ends or is suspended. */
void trace_line_begun(const struct trace_code *code);
void trace_line(const struct trace_code *code, uint32_t line);
void trace_line_resumed(const struct trace_code *code, uint32_t line);
void trace_line_left(void);

/* The thread is in none of what is counted. */
void trace_lines_pause(struct trace_thread *thread);
/* Touches nothing that is shared: that may be gone. */
void trace_lines_free(struct trace_thread *thread);

/* A call at this depth begins and ends that is told: the line which it is made from has none of its
 * time as its own. */
void trace_line_calls(struct trace_thread *thread, uint32_t depth);
void trace_line_called(struct trace_thread *thread, uint32_t depth);

#endif
