/* SPDX-License-Identifier: MIT */
/* Selects traced functions by the patterns of --trace-select and --trace-lines.
 *
 * Threads: patterns change while no thread is in the middle of an event. */
#ifndef PYANNOT_TRACING_SELECT_H
#define PYANNOT_TRACING_SELECT_H

#include "tracing_code.h"

#include <stdbool.h>

/* Patterns are separated by commas, as in ANNOT_TRACE. 0, or -1 with an exception. */
int trace_select(const char *patterns, const char *library_folder, const char *own_folder);
enum trace_verdict trace_judge(const char *file, const char *qualname, bool *ret_is_library);
/* Functions with counted lines: the same patterns, "-" excludes. */
int trace_select_lines(const char *patterns);
bool trace_judge_lines(const char *file, const char *qualname);

#endif
