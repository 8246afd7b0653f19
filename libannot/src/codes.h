/* SPDX-License-Identifier: MIT */
/* Calls of traced functions among the ranges of a thread.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. A call is a level of
 * state LEVEL_CALL: it has a record, but no entry in the live stack, which is for ranges of the
 * program; so reports of ranges and code that continues them on another thread skip calls. The
 * fields of a call for block headers stand in control->codes, by level. Only levels below
 * LEVELS_KEPT are calls; deeper ones are lost. A call's token is the number of calls open around
 * it: levels move when a range of the program is closed below them, the order of the calls does not
 * change. */
#ifndef ANNOT_CODES_H
#define ANNOT_CODES_H

#include "emit.h"

#include <annot/tracer.h>
#include <annot_barrier.h>

/* The number of ANNOT_PYTHON_DOMAIN; 0 until the first function has a name. */
extern uint16_t codes_domain;

/* Starts a new stream. */
void codes_begin(struct control *control);
/* In a child, before its first event: removes the parent's calls from the range stack. */
void codes_leave_parent(struct control *control);

/* Handles an emission with is_code: PUSH, POP (emission->value: the token, of PUSH out). */
void codes_event(struct control *control, struct emission *emission);

/* Ends the calls inside of the program's range at a level, before that range is closed. */
void codes_close_above(struct control *control, uint32_t level);
/* Begins them again after that: the levels above have moved to `level`. */
void codes_reopen(struct control *control, uint32_t level);
/* Returns how many of the levels from this one on are calls. */
uint32_t codes_from(const struct control *control, uint32_t level);

/* True if calls are wanted, and those of a function. Partner of the loads: the collector's stores;
 * any order will do. */
static inline int codes_pass(const struct control *control)
{
    return (annot_load_relaxed(&control->mask[ANNOT_CODE_LEVEL]) >> (codes_domain & 63) & 1) != 0;
}

static inline int codes_are_wanted(const struct control *control, annot_name name)
{
    const struct annot_string *string =
        (const void *)(control->segment->strings + (uint64_t)name * ANNOT_STRING_UNIT);
    return codes_pass(control) && !(annot_load_relaxed(&string->flags) & ANNOT_STRING_MASKED);
}

#endif
