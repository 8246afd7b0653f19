/* SPDX-License-Identifier: MIT */
/* The tables of samples. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_SAMPLES_H
#define ANNOT_QUERY_SAMPLES_H

#include "query_state.h"

#include <stdint.h>

struct query;
struct trace;

/* Writes "job/load" for a path of the scan's trace; NULL without a path. */
void query_put_path(struct query *query, const struct trace *trace, uint32_t path,
                    sqlite3_context *context);

#endif
