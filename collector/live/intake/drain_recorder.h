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
    uint32_t index, state; /* of the block; state with tag, at the first look */
    uint32_t end;          /* of its records in the copy */
};

struct capture {
    VEC(struct capture_place) places;  /* by claim_time */
    struct segment_block_copy *copies; /* by place */
    size_t size;                       /* of the copies, in bytes */
};

/* Copies all blocks claimed by now; `everything`: the program writes no more. 0, -ENOMEM, -EFAULT.
 * Call capture_free after success and failure. */
int capture_take(const struct segment *segment, bool everything, struct capture *ret_capture);
void capture_free(struct capture *capture);

/* Reads a flight recorder in one look: at its end (drain_visit with DRAIN_RELEASED does nothing),
 * or while it runs, for a snapshot. `everything`: the program writes no more. As drain_visit, but
 * returns -EFAULT. */
int64_t drain_recorder(struct drain *drain, bool everything);

#endif
