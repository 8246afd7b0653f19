/* SPDX-License-Identifier: MIT */
/* Calls of traced functions among the ranges of a thread.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. A call is a level of
 * state LEVEL_CALL: it has a record, but no entry in the live stack, which is for ranges of the
 * program; so neither reports of ranges nor whoever goes on with them on another thread meets calls
 * there. What a block header has to tell of it stands in control->codes, by level. Only levels
 * below LEVELS_KEPT are calls; deeper ones are lost. A call's token is how many calls are open
 * around it: levels move when a range of the program is closed below them, the order of the calls
 * does not. */
#ifndef ANNOT_CODES_H
#define ANNOT_CODES_H

#include "emit.h"

#include <annot/tracer.h>
#include <annot_barrier.h>

/* The number of ANNOT_PYTHON_DOMAIN; 0 until the first function has a name. */
extern uint16_t codes_domain;

/* At a new stream. */
void codes_begin(struct control *control);
/* In a child, before its first event: the parent's calls leave the range stack. */
void codes_leave_parent(struct control *control);

/* What emission->is_code tells: PUSH, POP (emission->value: the token, of PUSH out). */
void codes_event(struct control *control, struct emission *emission);

/* Before the range of the program at a level gets its end: ends for the calls inside of it. */
void codes_close_above(struct control *control, uint32_t level);
/* After that: the levels above have moved to `level`. They begin again. */
void codes_reopen(struct control *control, uint32_t level);
/* How many of the levels from this one on are calls. */
uint32_t codes_from(const struct control *control, uint32_t level);

/* Whether calls are wanted, and those of a function. Partner of the loads: the collector's stores;
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
