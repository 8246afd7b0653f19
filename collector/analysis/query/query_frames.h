/* SPDX-License-Identifier: MIT */
/* Frames of stacks as cells, and the owners of code. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_FRAMES_H
#define ANNOT_QUERY_FRAMES_H

#include "query.h"
#include "query_state.h"

#include <stdint.h>

struct query;

/* Columns of the tables that show frames. */
enum frame_part {
    FRAME_FUNCTION,
    FRAME_FILE,
    FRAME_LINE,
    FRAME_OWNER,
    FRAME_KIND_NAME,
    FRAME_MODULE,
    FRAME_FIRST_LINE,
};

/* NULL for frame 0. */
struct query_cell frame_cell(struct query *query, uint32_t frame, enum frame_part part);

/* Returns the owner of a label (enum code_owner), cached. */
unsigned query_owner_of(struct query *query, uint32_t label);

/* Returns the innermost frame of own code in a stack, 0: not found. */
uint32_t query_own_frame(struct query *query, uint32_t stack);

#endif
