/* SPDX-License-Identifier: MIT */
/* Writing records and moving the range stack: the part that is inlined into the fast path.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. */
#ifndef ANNOT_RECORD_H
#define ANNOT_RECORD_H

#include "clock.h"
#include "control.h"
#include "testpoint.h"
#include "watched.h"

#include <annot_barrier.h>

enum { RECORDS_PER_BLOCK = ANNOT_BLOCK_DATA_SIZE / ANNOT_GRANULE };

/* Storing two halves is as fast as one combined store. */
static inline void record_base(uint8_t *at, uint64_t time, uint32_t head, uint32_t name)
{
    uint32_t *halves = (uint32_t *)(at + sizeof(time));
    *(uint64_t *)at = time;
    halves[0] = head;
    halves[1] = name;
}

/* Returns the address of a block's record at this offset. */
static inline uint8_t *record_at(struct annot_block *block, uint32_t committed)
{
    return (uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE + committed;
}

/* Returns the address of the next record. Without a block: invalid. */
static inline uint8_t *record_next(const struct control *control)
{
    return record_at(control->block, control->committed);
}

/* Sets the offset up to which records may be written without further checks: the end of the block,
 * or 0. fast.h's quick functions require a clock of one instruction and numbers that don't wrap. */
static inline void record_limit(struct control *control, uint32_t limit)
{
    if (annot_load_relaxed(&control->sharer)) /* partner: control_share */
        limit = 0;
    int is_quick = clock_is_quick() && control->instance < UINT32_MAX - RECORDS_PER_BLOCK;
    control->limit = limit;
    control->quick_limit = is_quick ? limit : 0;
    annot_fence_full(); /* partner: annot_watch_range */
    if (limit && watch_is_on(control))
        control->limit = control->quick_limit = 0;
}

/* kind, granules, flags and level in a record's layout. */
static inline uint32_t record_head(uint32_t kind, uint32_t granules, uint32_t flags, uint32_t level)
{
    return kind | granules << 8 | flags << 16 | level << 24;
}

/* Commits the records up to there; from here on they belong to the collector. */
static inline void record_commit_to(struct control *control, struct annot_block *block,
                                    uint32_t committed)
{
    TESTPOINT("commit:written");
    if (PLANTED(BUG_RELEASED_EARLY))
        annot_store_release(&control->segment->block_states[control->block_index],
                            (uint32_t)ANNOT_BLOCK_RELEASED);
    TESTPOINT("commit:before");
    control->committed = committed;
    /* Partner: the collector's acquire load of `committed`. */
    annot_store_release(&block->committed, committed);
    TESTPOINT("commit:done");
}

static inline void record_commit(struct control *control, uint32_t size)
{
    record_commit_to(control, control->block, control->committed + size);
}

/* Shows a range in the live stack. */
static inline void live_put(struct control *control, uint32_t name, uint32_t instance,
                            uint64_t time)
{
    struct annot_thread *thread = control->thread;
    uint32_t depth = control->live_depth;
    thread->live[depth % ANNOT_LIVE_DEPTH] = (struct annot_open){name, instance, time};
    control->live_depth = depth + 1;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&thread->depth, depth + 1);
}

/* Before live_put: stores the domain or category of the range that comes next. */
static inline void live_note(struct control *control, uint16_t domain, uint16_t category)
{
    uint32_t depth = control->live_depth;
    if (depth < ANNOT_LIVE_DEPTH)
        control->keep->scopes[depth] = (struct open_scope){control->instance, domain, category};
}

/* Returns the next number: never 0, so after 4 billion recorded begins they start again. */
static inline uint32_t instance_after(uint32_t instance)
{
    return instance == UINT32_MAX ? 1 : instance + 1;
}

#endif
