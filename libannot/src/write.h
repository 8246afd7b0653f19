/* SPDX-License-Identifier: MIT */
/* Writing the record of an event with its key-values: one commit, so never half of it.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. */
#ifndef ANNOT_WRITE_H
#define ANNOT_WRITE_H

#include "control.h"
#include "emit.h"

/* Returns the time of the record, or 0 if it is lost and counted. */
uint64_t write_event(struct control *control, const struct emission *emission);

/* Returns the string id of that event's name; 0: it is in the record. */
uint32_t write_name(const struct control *control);

#endif
