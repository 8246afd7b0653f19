/* SPDX-License-Identifier: MIT */
/* Places in the recording from which scans read. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_PLACES_H
#define ANNOT_QUERY_PLACES_H

#include "query_state.h"

#include <stdbool.h>

struct query;
struct query_place;

/* A place at the first event, for a scan; one with samples if they are wanted. NULL: read_error. */
struct query_place *query_take_place(struct query *query, bool samples);
void query_give_place(struct query_place *place);

#endif
