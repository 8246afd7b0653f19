/* SPDX-License-Identifier: MIT */
/* The policy that would rather hold a program up than lose a record.
 *
 * Threads: any, with the control block's BUSY mark set: events of signal handlers that come
 * meanwhile do not wait, they are counted as interrupted. */
#ifndef ANNOT_WAIT_H
#define ANNOT_WAIT_H

#include "control.h"

/* As block_claim, after at most ANNOT_WAIT_MAX_NS. It does not wait at all while nobody records any
 * more, while the collector is late, or while it has not come by since somebody waited in vain;
 * nor, if threads held all blocks by then, until one of them is claimed again. */
int wait_claim(const struct control *control, uint32_t *ret_index);

/* A block was claimed: waiting makes sense again. */
void wait_hope(struct segment *segment);

#endif
