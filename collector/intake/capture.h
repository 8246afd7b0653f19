/* SPDX-License-Identifier: MIT */
/* The blocks of a segment whose program may overwrite them at any time: copied as fast as can be,
 * before any of them is looked at.
 *
 * The newest are copied first, for the oldest are overwritten next: whoever writes faster than this
 * copies takes from the far end only. Blocks that were claimed after the instant for which the
 * capture stands are left out, so of no thread a block is missing in the middle.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_CAPTURE_H
#define ANNOT_INTAKE_CAPTURE_H

#include "segment_reader.h"

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

/* Takes all blocks that were claimed by now; `everything`: nobody writes any more. 0, -ENOMEM,
 * -EFAULT. Call capture_free after success and failure. */
int capture_take(const struct segment *segment, bool everything, struct capture *ret_capture);
void capture_free(struct capture *capture);

#endif
