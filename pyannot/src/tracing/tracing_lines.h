/* SPDX-License-Identifier: MIT */
/* Counts lines, and the time in each. Threads: each its own counts. */
#ifndef PYANNOT_TRACING_LINES_H
#define PYANNOT_TRACING_LINES_H

#include "tracing_thread.h"

/* The calling thread's innermost frame, of this code, begins; begins a line; resumes in the middle
 * of a line; ends or is suspended. */
void trace_line_begun(const struct trace_code *code);
void trace_line(const struct trace_code *code, uint32_t line);
void trace_line_resumed(const struct trace_code *code, uint32_t line);
void trace_line_left(void);

/* Closes all counted frames of the thread. */
void trace_lines_pause(struct trace_thread *thread);
/* Does not touch shared memory, which may be unmapped. */
void trace_lines_free(struct trace_thread *thread);

/* A recorded call at this depth begins and ends: its time is not the calling line's own. */
void trace_line_calls(struct trace_thread *thread, uint32_t depth);
void trace_line_called(struct trace_thread *thread, uint32_t depth);

#endif
