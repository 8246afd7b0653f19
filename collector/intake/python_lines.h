/* SPDX-License-Identifier: MIT */
/* What others appended to a session's file. Python interpreters said of themselves, as facts of the
 * recording, which have no pyannot and what helps, which parts of it ran, and whether what they
 * recorded arrived; sessions inside this one named their recordings. docs/wire-format.md, "Lines".
 * Thread-safety: none. */
#ifndef ANNOT_INTAKE_PYTHON_LINES_H
#define ANNOT_INTAKE_PYTHON_LINES_H

#include "trace.h"

#include <stddef.h>

enum {
    PYTHON_LINES_BYTES = 1 << 20, /* what is behind is not read */
    PYTHON_LINE_BYTES = 1024,
    PYTHON_NOTES_MAX = 64, /* different ones */
    NESTED_BYTES = 8192,   /* of the list of recordings; those behind are not named */
};

/* When all events are in the trace. `fd`: the session file, or -1. 0 or -ENOMEM. */
int python_lines_take(int fd, struct trace *trace);

/* The same of lines that are there already; they are changed. */
int python_lines_read(char *lines, size_t size, struct trace *trace);

#endif
