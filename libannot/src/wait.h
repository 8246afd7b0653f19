/* SPDX-License-Identifier: MIT */
/* The policy that delays a program rather than lose a record.
 *
 * Threads: any, with the control block's BUSY mark set: events of signal handlers in the meantime
 * do not wait, they are counted as interrupted. */
#ifndef ANNOT_WAIT_H
#define ANNOT_WAIT_H

#include "control.h"

/* As block_claim, after at most ANNOT_WAIT_MAX_NS. It does not wait without a recording, while the
 * collector is late, or before the collector's next visit after a wait that failed; nor, if threads
 * held all blocks by then, until one of them is claimed again. */
int wait_claim(const struct control *control, uint32_t *ret_index);

/* A block was claimed: enables waiting again. */
void wait_hope(struct segment *segment);

#endif
