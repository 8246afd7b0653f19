/* SPDX-License-Identifier: MIT */
/* Rows of functions and edges, made of the paths of calls. Thread-safety: as the calls. */
#ifndef ANNOT_CALL_COUNTS_ROWS_H
#define ANNOT_CALL_COUNTS_ROWS_H

#include "call_counts_parts.h"

/* 0 or -ENOMEM. */
int calls_add_up(struct calls *calls);
int64_t calls_edge_of(struct calls *calls, struct map64 *edges, uint32_t caller, uint32_t callee);
int calls_sort(struct calls *calls);

#endif
