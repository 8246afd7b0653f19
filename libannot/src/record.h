/* SPDX-License-Identifier: MIT */
/* Writing records and moving the range stack: the part that the fast path inlines.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. */
#ifndef ANNOT_RECORD_H
#define ANNOT_RECORD_H

#include "clock.h"
#include "control.h"
#include "testpoint.h"

#include <annot_barrier.h>

static inline void record_base(uint8_t *at, uint64_t time, uint32_t head, uint32_t name)
{
    uint64_t *words = (uint64_t *)at;
    words[0] = time;
    words[1] = (uint64_t)name << 32 | head;
}

/* kind, granules, flags, level as they lie in a record. */
static inline uint32_t record_head(uint32_t kind, uint32_t granules, uint32_t flags, uint32_t level)
{
    return kind | granules << 8 | flags << 16 | level << 24;
}

/* From here on the record belongs to the collector. */
static inline void record_commit(struct control *control, uint32_t size)
{
    TESTPOINT("commit:written");
    if (PLANTED(BUG_RELEASED_EARLY))
        annot_store_release(&control->segment->block_states[control->block_index],
                            (uint32_t)ANNOT_BLOCK_RELEASED);
    TESTPOINT("commit:before");
    control->position += size;
    uint32_t committed =
        (uint32_t)(control->position - (uint8_t *)control->block) - ANNOT_BLOCK_HEADER_SIZE;
    /* Partner: the collector's acquire load of `committed`. */
    annot_store_release(&control->block->committed, committed);
    TESTPOINT("commit:done");
}

/* Shows a range in the live stack. */
static inline void live_put(struct control *control, uint32_t depth, uint64_t time,
                            uint64_t name_and_instance)
{
    uint64_t *entry = (uint64_t *)&control->thread->live[depth % ANNOT_LIVE_DEPTH];
    entry[0] = name_and_instance;
    entry[1] = time;
    control->live_depth = depth + 1;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth + 1);
}

#endif
