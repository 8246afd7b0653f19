/* SPDX-License-Identifier: MIT */
/* Labels of functions, processes and waits, the same text in every output.
 *
 * A Python function is "name (file:line)" with its first line, so that all lines of a function
 * share a label; every other function is its bare name. Thread-safety: pure functions. */
#ifndef ANNOT_CALL_LABEL_H
#define ANNOT_CALL_LABEL_H

#include "stacks.h"
#include "trace.h"

enum { CALL_LABEL_SIZE = 2048 };

/* The prefix list that stands for site-packages, dist-packages and the standard library. */
#define CALL_STRIP_LIBRARIES "lib"

/* Leaves the base name: "json.py"; keeps the folder of "json/__init__.py". */
#define CALL_STRIP_FOLDERS "base"

/* Returns `path` without the longest matching directory of `prefixes`, a list separated by ':' that
 * may contain the words above. The result points into `path`. NULL: no change. */
const char *call_short_path(const char *path, const char *prefixes);

/* At most size - 1 bytes and NUL; returns the length. */
size_t call_label(const struct trace *trace, uint32_t label, const char *prefixes, char *buffer,
                  size_t size);

/* A line of a function: "name (file:line)". `line` 0: as call_label. */
struct call_place {
    uint32_t label;
    int32_t line;
};

size_t call_line_label(const struct trace *trace, const struct call_place *place,
                       const char *prefixes, char *buffer, size_t size);
size_t call_frame_label(const struct trace *trace, uint32_t frame, const char *prefixes,
                        char *buffer, size_t size);

/* Orders labels independently of their numbers in a recording: by text, file, module, first line
 * and kind. Returns as strcmp. */
int call_compare_labels(const struct trace *trace, uint32_t a, uint32_t b);

/* Returns the path of the file (string) and the first line of the function that an event's name
 * stands for; 0: no file, or the name is not a function's. */
uint32_t call_source(const struct trace *trace, uint32_t name, int32_t *ret_line);

/* Drops the native frames of a stack that has Python functions; leaves other stacks unchanged.
 * Returns the number of frames left. */
uint32_t call_python_frames(const struct stacks *stacks, uint32_t *frames, uint32_t count);

#endif
