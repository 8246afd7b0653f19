/* SPDX-License-Identifier: MIT */
/* Readers of the recording for scans. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_PLACES_H
#define ANNOT_QUERY_PLACES_H

#include "query_state.h"

#include <stdbool.h>

struct query;
struct query_place;

/* Returns a reader at the first event, with samples if wanted. NULL: read_error. */
struct query_place *query_take_place(struct query *query, bool samples);
void query_give_place(struct query_place *place);

#endif
