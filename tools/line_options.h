/* SPDX-License-Identifier: MIT */
/* The options of `cat` and `tail` that say which lines are printed, and how. Main thread only. */
#ifndef ANNOT_LINE_OPTIONS_H
#define ANNOT_LINE_OPTIONS_H

#include "line.h"
#include "options.h"

struct line_values {
    const char *name;
    bool json, complete, samples, python;
};

/* Lines of an option table; `at` is the offset of the struct line_values. */
#define LINE_OPTIONS(at)                                                                           \
    {"json",      'j',                                                                             \
     OPTION_FLAG, (at) + offsetof(struct line_values, json),                                       \
     NULL,        "one JSON object a line",                                                        \
     NULL},                                                                                        \
        {"complete",  'c',                                                                         \
         OPTION_FLAG, (at) + offsetof(struct line_values, complete),                               \
         NULL,        "print a range as one line with its duration, at its end",                   \
         NULL},                                                                                    \
        {"samples",   0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct line_values, samples),                                \
         NULL,        "also print samples and stretches off the CPU, with stacks",                 \
         NULL},                                                                                    \
        {"python",    0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct line_values, python),                                 \
         NULL,        "only Python functions in stacks",                                           \
         NULL},                                                                                    \
    {                                                                                              \
        "name", 0, OPTION_TEXT, (at) + offsetof(struct line_values, name), "NAME",                 \
            "only lines with this name; *, ? and [] as in a shell", NULL                           \
    }

struct line_printer {
    const struct line_values *values;
    struct line_writer writer;
    line_format *format;
};

/* 0 or -ENOMEM; fini in any case. What it is given outlives it. */
int line_printer_init(struct line_printer *printer, const struct line_values *values,
                      const struct trace *trace, struct out_stream *out);
void line_printer_fini(struct line_printer *printer);

/* Is it to be printed? With a name only what has one is. */
bool line_printer_takes(const struct line_printer *printer, const struct line *line);

/* A message for what standard output answered. Returns CMD_FAILED. */
int line_printer_fail_output(int error);

#endif
