/* SPDX-License-Identifier: MIT */
/* Paths of ranges, as written to outputs. Thread-safety: pure functions. */
#ifndef ANNOT_CALL_PATH_H
#define ANNOT_CALL_PATH_H

#include "out_stream.h"
#include "trace.h"

/* A range as a part of a path: "domain:name". */
void call_put_range(const struct trace *trace, uint32_t name, uint32_t scope,
                    struct out_stream *out);

/* "job/load": the ranges of a path, outermost first. */
void call_put_path(const struct trace *trace, uint32_t path, struct out_stream *out);

#endif
