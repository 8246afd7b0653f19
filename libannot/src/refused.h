/* SPDX-License-Identifier: MIT */
/* Telling that this process cannot take part, and how many of its events are lost by that, where it
 * has neither descriptor nor file: in the pages behind the wake page, mapped in the constructor.
 *
 * A place, on the wiped page, is where a process counts in one generation: a slot that it took, or,
 * where none is free, a count without its name. It never gives a slot back, and a fork, an exec or
 * the next generation takes another: what stands there waits for the collector, however late that
 * reads it. What a thread counts in a place that it loaded before a collector gave the slot back
 * (the thread stood still meanwhile, at the end of the recording) is counted without a name, by the
 * next who takes the slot.
 *
 * Threads: any, lock-free; async-signal-safe. Without the pages (their room could not be reserved,
 * or pages are larger than 4 KiB) nothing is told; the recording says that. */
#ifndef ANNOT_REFUSED_H
#define ANNOT_REFUSED_H

#include "directory.h"

#include <errno.h>

/* Makes sure that the wake file has the pages, and maps them. In the constructor. */
void refusals_map(int wake_fd);

/* Whether another attempt may succeed: a descriptor was missing. */
static inline int refusals_may_pass(int error)
{
    return error == EMFILE || error == ENFILE;
}

/* Whether it is one of this generation. */
int refusals_is_place(uint64_t place, uint64_t generation);

/* The place from now on: the same in the same generation, unless the refusal is a final one that
 * was another one before. 0: there are no pages. `session_id`: that of the session it would join,
 * as far as it is known. */
uint64_t refusals_note(uint64_t place, const struct refusal *refusal, uint64_t session_id,
                       uint64_t generation);

/* Events that are lost by it. */
void refusals_count(uint64_t place, uint64_t count);

/* The process takes part after all; or, not `is_member`, has no session. */
void refusals_end(uint64_t place, int is_member);

/* For annot_status: one line. */
const char *refusals_text(uint16_t reason);

#endif
