/* SPDX-License-Identifier: MIT */
/* What outputs call a function, a process, a wait: one text each, the same in every output.
 *
 * A Python function is "name (file:line)" with its first line, so that all lines of a function are
 * one; everything else is its bare name. Thread-safety: pure functions. */
#ifndef ANNOT_CALL_LABEL_H
#define ANNOT_CALL_LABEL_H

#include "out_stream.h"
#include "stacks.h"
#include "trace.h"

enum { CALL_LABEL_SIZE = 2048 };

/* The prefix list that stands for site-packages, dist-packages and the standard library. */
#define CALL_STRIP_LIBRARIES "lib"

/* The one that leaves the base name: "json.py"; "json/__init__.py" where that says too little. */
#define CALL_STRIP_FOLDERS "base"

/* `path` without the longest of the directories of `prefixes`, which are separated by ':' and may
 * be one of the words above. A pointer into `path`. NULL: as it is. */
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

/* An order of labels that does not depend on how a recording numbers them: by text, file, module,
 * first line and kind. As strcmp. */
int call_compare_labels(const struct trace *trace, uint32_t a, uint32_t b);

/* Of the name of an event, if it stands for a function: the path of its file (string) and its first
 * line; 0: it has none, or is no function's. */
uint32_t call_source(const struct trace *trace, uint32_t name, int32_t *ret_line);

/* A range as a part of a path: "domain:name". */
void call_put_range(const struct trace *trace, uint32_t name, uint32_t scope,
                    struct out_stream *out);

/* "job/load": the ranges of a path, outermost first. */
void call_put_path(const struct trace *trace, uint32_t path, struct out_stream *out);

/* Leaves native frames out of a stack that has Python functions; one without stays as it is.
 * Returns how many are left. */
uint32_t call_python_frames(const struct stacks *stacks, uint32_t *frames, uint32_t count);

#endif
