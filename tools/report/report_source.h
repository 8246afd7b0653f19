/* SPDX-License-Identifier: MIT */
/* `annot report --source`. Main thread only. */
#ifndef ANNOT_REPORT_SOURCE_H
#define ANNOT_REPORT_SOURCE_H

#include "report_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report;
struct report_view;
struct trace;

/* Prints source with CPU time, waits and samples per line: of hot functions, or of all files and
 * functions of that name. 0 or -ENOMEM, or the exit status after a printed message. */
int report_source(const struct report *report, const struct report_view *view, const char *name);

/* The same for a recording with counted lines. false: `name` has no counted lines; prints nothing.
 */
bool report_counts_source(const struct report *report, const struct report_view *view,
                          const char *name, FILE *out);

/* Prints a line of source, with tabs as four blanks, cut to `width` columns; 0: the remaining
 * width. */
void report_put_source(const struct report *report, uint32_t source, uint32_t line, size_t width,
                       FILE *out);

/* Return true if a name denotes the file or the function. "parse.py" also denotes
 * "/home/me/lib/parse.py"; "parse" denotes "Parser.parse". */
bool report_names_file(const struct trace *trace, uint32_t source, const char *name);
bool report_names_function(const struct trace *trace, uint32_t label, const char *name);

#endif
