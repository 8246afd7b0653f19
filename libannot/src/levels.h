/* SPDX-License-Identifier: MIT */
/* The range stack of a thread: what each open range is to the stream and to the live stack.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. Levels below
 * LEVELS_KEPT are kept one by one. Deeper, once one is suppressed, all deeper ones are, until the
 * depth returns; so any depth needs no memory.
 *
 * Among the levels of ranges are those that are SHOWN: they stand for ranges of the track that the
 * thread runs at present, and those of calls of traced functions: no pop closes them. */
#ifndef ANNOT_LEVELS_H
#define ANNOT_LEVELS_H

#include "control.h"

/* Whether a push can be recorded at all at this depth. */
int levels_can_record(const struct control *control);

/* Opens a range. Name and time go to the live stack, unless masked. `counted`: a suppressed push
 * was counted as lost, so its pop will be. */
void levels_push(struct control *control, enum level_state state, uint32_t name, uint64_t time,
                 int counted);

/* How many levels there are up to the innermost range that a pop closes, it included; 0: none. */
uint32_t levels_own(const struct control *control);

/* Closes that range. There must be one. Returns its state; ret_counted tells whether a suppressed
 * range's pop counts as lost. */
enum level_state levels_pop(struct control *control, int *ret_counted);

/* Shows a range of a track. `kind`: enum annot_open_track. Returns 1, or 0: no room for it. */
int levels_show(struct control *control, uint32_t name, uint64_t kind);

/* An entry of the live stack, counted from the outermost. NULL: nobody remembers it. */
const struct annot_open *levels_live(struct control *control, uint32_t index);
/* Its range has begun again. */
void levels_live_set(struct control *control, uint32_t index, const struct annot_open *open);

/* Whether a level of that state is in the live stack. */
static inline int levels_is_live(uint8_t state)
{
    return state != LEVEL_MASKED && state != LEVEL_CALL;
}

/* Takes shown ranges away, from the innermost on, after `skip` that stay. */
void levels_hide(struct control *control, uint32_t skip, uint32_t count);

#endif
