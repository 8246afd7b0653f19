/* SPDX-License-Identifier: MIT */
/* Pausing of ITT, names of threads, clocks, stitched stacks. Threads: any. */
#ifndef ANNOT_ITT_CONTROL_H
#define ANNOT_ITT_CONTROL_H

#include "itt.h"

#include <annot/annot.h>
#include <annot_barrier.h>

/* Between __itt_pause and __itt_resume. W: under the lock */
extern int itt_is_paused;

/* Records the pause as a range in a recording that began during it. */
void itt_emit_pause(void);

/* In a forked child: the pause continues, without a range in this process yet. */
void itt_pause_after_fork(void);

/* True during a recording, without a pause. */
static inline int itt_is_wanted(void)
{
    if (!ITT_RARELY(annot_enabled()))
        return 0;
    if (!ITT_RARELY(annot_load_relaxed(&itt_is_paused)))
        return 1;
    itt_emit_pause();
    return 0;
}

#endif
