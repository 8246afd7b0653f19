/* SPDX-License-Identifier: MIT */
/* Converts lines that programs appended to the session's file into facts of the recording: Python
 * interpreters without pyannot and the remedy, which parts of pyannot ran, whether their records
 * arrived; names of the recordings of sessions inside this one. docs/wire-format.md, "Lines". */
#ifndef ANNOT_PYTHON_LINES_H
#define ANNOT_PYTHON_LINES_H

#include <stddef.h>

struct trace;

enum {
    PYTHON_LINES_BYTES = 1 << 20, /* the rest is not read */
    PYTHON_LINE_BYTES = 1024,
    PYTHON_NOTES_MAX = 64, /* different ones */
    NESTED_BYTES = 8192,   /* of the list of recordings; later ones are not named */
};

/* Call when all events are in the trace. `fd`: the session file, or -1. 0 or -ENOMEM. */
int python_lines_take(int fd, struct trace *trace);

/* As python_lines_take, for lines in memory, which are modified. */
int python_lines_read(char *lines, size_t size, struct trace *trace);

#endif
