/* SPDX-License-Identifier: MIT */
/* Telling that this process cannot take part, and how many of its events are lost by that, where it
 * has neither descriptor nor file: in the pages behind the wake page, mapped in the constructor.
 *
 * Threads: any, lock-free; async-signal-safe. Without the pages nothing is told. */
#ifndef ANNOT_REFUSED_H
#define ANNOT_REFUSED_H

#include "directory.h"

/* Makes sure that the wake file has the pages, and maps them. In the constructor. */
void refusals_map(int wake_fd);

/* Instead of a slot, where none is free: events are counted without the process's name. */
#define REFUSED_UNNAMED UINT32_MAX

/* Takes a slot, or changes the one that is taken. `held`: 1 + its index, or 0; the same is
 * returned. `session_id`: that of the session it would join, as far as it is known. */
uint32_t refusals_note(uint32_t held, const struct refusal *refusal, uint64_t session_id,
                       uint64_t generation);

/* One more event that is lost by it. `is_pending`: a segment will tell of it if one can be made. */
void refusals_count(uint32_t held, int is_pending);

/* The process takes part after all, or has no session. */
void refusals_clear(uint32_t held);

/* For annot_status: one line. */
const char *refusals_text(uint16_t reason);

#endif
