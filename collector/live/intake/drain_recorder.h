/* SPDX-License-Identifier: MIT */
/* The blocks of a flight recorder, copied while its program may overwrite them, and their records.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_DRAIN_RECORDER_H
#define ANNOT_DRAIN_RECORDER_H

#include "drain.h"
#include "segment_reader.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_place {
    uint64_t claim_time;
    uint32_t index, state; /* of the block; with tag, when it was first looked at */
    uint32_t end;          /* of its records in the copy */
};

struct capture {
    VEC(struct capture_place) places;  /* by claim_time */
    struct segment_block_copy *copies; /* by place */
    size_t size;                       /* of them, in bytes */
};

/* Takes all blocks that were claimed by now; `everything`: the program writes no more. 0, -ENOMEM,
 * -EFAULT. Call capture_free after success and failure. */
int capture_take(const struct segment *segment, bool everything, struct capture *ret_capture);
void capture_free(struct capture *capture);

/* A flight recorder is read in one look, at its end: drain_visit with DRAIN_RELEASED does nothing.
 * Or here, while it goes on, for a snapshot; `everything`: the program writes no more. As
 * drain_visit, but -EFAULT is returned. */
int64_t drain_recorder(struct drain *drain, bool everything);

#endif
