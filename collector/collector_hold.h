/* SPDX-License-Identifier: MIT */
/* A recording that cannot be written any more (a full disk): programs go on to record into shared
 * memory, of which they count what finds no room, and "annot recover" fetches it.
 *
 * What new processes may take of it that way is bounded: then nobody joins any more, and the
 * recording will say from when on. Thread-safety: none. */
#ifndef ANNOT_COLLECTOR_HOLD_H
#define ANNOT_COLLECTOR_HOLD_H

#include "session_file.h"

enum { HOLD_PAUSE_MS = 1000, HOLD_POOLS = 4 };

/* The first two are the owner's. */
struct hold {
    const struct directory *directory;
    const struct session_file *session;
    uint64_t bytes_max;
    bool shut;
};

/* The shared memory may grow by HOLD_POOLS times `pool_bytes` from here on. */
void hold_begin(struct hold *hold, int64_t pool_bytes);

/* From time to time. */
void hold_step(struct hold *hold);

#endif
