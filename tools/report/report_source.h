/* SPDX-License-Identifier: MIT */
/* `annot report --source`. Main thread only. */
#ifndef ANNOT_REPORT_SOURCE_H
#define ANNOT_REPORT_SOURCE_H

#include "report_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report;
struct report_view;
struct trace;

/* The source, line by line, with CPU time, waits and samples: of hot functions, or of all files and
 * functions of that name. 0 or -ENOMEM, or the status of a message. */
int report_source(const struct report *report, const struct report_view *view, const char *name);

/* A line of source, tabs as four blanks, cut to so many columns; 0: as far as there is room. */
void report_put_source(const struct report *report, uint32_t source, uint32_t line, size_t width,
                       FILE *out);

/* Does a name mean that file, that function? "parse.py" is "/home/me/lib/parse.py", too; "parse" is
 * "Parser.parse". */
bool report_names_file(const struct trace *trace, uint32_t source, const char *name);
bool report_names_function(const struct trace *trace, uint32_t label, const char *name);

#endif
