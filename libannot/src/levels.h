/* SPDX-License-Identifier: MIT */
/* The range stack of a thread: the state of each open range in the stream and in the live stack.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. Levels below LEVELS_KEPT
 * have an individual state. Deeper, once one is suppressed, all deeper ones are, until the depth
 * returns; so any depth needs no memory.
 *
 * Some levels are SHOWN: they stand for ranges of the track that the thread currently runs; others
 * are calls of traced functions: no pop closes them. */
#ifndef ANNOT_LEVELS_H
#define ANNOT_LEVELS_H

#include "control.h"

/* True if a push can be recorded at this depth. */
int levels_can_record(const struct control *control);

/* Opens a range. Name and time go to the live stack, unless masked. `counted`: a suppressed push
 * was counted as lost, so its pop will be. */
void levels_push(struct control *control, enum level_state state, uint32_t name, uint64_t time,
                 int counted);

/* Returns the number of levels up to and including the innermost range that a pop closes; or 0. */
uint32_t levels_own(const struct control *control);

/* Closes that range. There must be one. Returns its state; ret_counted is 1 if a suppressed range's
 * pop counts as lost. */
enum level_state levels_pop(struct control *control, int *ret_counted);

/* Shows a range of a track. `kind`: enum annot_open_track. Returns 1, or 0 without room for it. */
int levels_show(struct control *control, uint32_t name, uint64_t kind);

/* Returns an entry of the live stack, counted from the outermost, or NULL if it was not kept. */
const struct annot_open *levels_live(struct control *control, uint32_t index);
/* Replaces it: its range has begun again. */
void levels_live_set(struct control *control, uint32_t index, const struct annot_open *open);

/* True if a level of that state is in the live stack. */
static inline int levels_is_live(uint8_t state)
{
    return state != LEVEL_MASKED && state != LEVEL_CALL;
}

/* Removes shown ranges, from the innermost on, after skipping `skip`, which stay. */
void levels_hide(struct control *control, uint32_t skip, uint32_t count);

#endif
