/* SPDX-License-Identifier: MIT */
/* Reports that this process cannot take part, and how many of its events are lost by that, if it
 * has neither descriptor nor file: in the pages after the wake page, mapped in the constructor.
 *
 * A place, on the wiped page, is where a process counts in one generation: a slot that it took, or,
 * if none is free, a count without a name. It never frees a slot, and a fork, an exec or the next
 * generation takes another: the counts wait for the collector, however late that reads them. Events
 * that a thread counts in a slot that it loaded before a collector freed it (the thread was stopped
 * meanwhile, at the end of the recording) are moved to the count without a name by the next process
 * that takes the slot.
 *
 * Threads: any, lock-free; async-signal-safe. Without the pages (they could not be reserved, or
 * pages are larger than 4 KiB) it reports no refusal; the recording says that. */
#ifndef ANNOT_REFUSED_H
#define ANNOT_REFUSED_H

#include "directory.h"

#include <errno.h>

/* Makes sure that the wake file has the pages, and maps them. In the constructor. */
void refusals_map(int wake_fd);

/* True if another attempt may succeed: a descriptor was missing. */
static inline int refusals_may_pass(int error)
{
    return error == EMFILE || error == ENFILE;
}

/* True if it is a place of this generation. */
int refusals_is_place(uint64_t place, uint64_t generation);

/* Returns the current place: the same in the same generation, unless this refusal is final and has
 * another reason than the slot's. 0: there are no pages. `session_id`: the session that it would
 * join, if known. */
uint64_t refusals_note(uint64_t place, const struct refusal *refusal, uint64_t session_id,
                       uint64_t generation);

/* Counts events lost by it. */
void refusals_count(uint64_t place, uint64_t count);

/* The process takes part now; or, if not `is_member`, has no session. */
void refusals_end(uint64_t place, int is_member);

/* For annot_status: one line. */
const char *refusals_text(uint16_t reason);

#endif
