/* SPDX-License-Identifier: MIT */
/* The pool of blocks: see block.h. */
#include "block.h"

#include "clock.h"
#include "proc.h"
#include "testpoint.h"

#include <annot_barrier.h>
#include <errno.h>

/* The first blocks are reserved one by one, for processes that record little: an extent would add
 * 0.4 ms to their start. */
enum { BLOCKS_PER_EXTENT = ANNOT_EXTENT_SIZE / ANNOT_BLOCK_SIZE, FIRST_BLOCKS_ALONE = 2 };

/* Pause between failed attempts to reserve memory: each is a system call, and a full file system
 * seldom empties at once. */
#define NO_MEMORY_PAUSE_TICKS UINT64_C(20000000)

static uint64_t head_make(uint64_t old, uint32_t low)
{
    if (PLANTED(BUG_HEAD_WITHOUT_TAG))
        return low;
    return ((old >> 32) + 1) << 32 | low;
}

static int pop(struct segment *segment, uint32_t *ret_index)
{
    uint64_t *head = &segment->header->shared.free_head;
    uint64_t old = annot_load_acquire(head); /* partner: block_push, here and in the collector */
    for (;;) {
        uint32_t low = (uint32_t)old;
        if (low == 0 || low > segment->block_count)
            return -ENOBUFS;
        TESTPOINT("claim:head-read");
        uint32_t next = annot_load_relaxed(&segment->block_nexts[low - 1]);
        TESTPOINT("claim:next-read");
        /* The tag makes this fail if the block was popped and pushed again meanwhile. */
        uint64_t new = head_make(old, next);
        if (PLANTED(BUG_HEAD_WITHOUT_SWAP))
            annot_store_relaxed(head, old);
        if (annot_cas_acq_rel(head, &old, new)) {
            TESTPOINT("claim:popped");
            *ret_index = low - 1;
            return 0;
        }
    }
}

static int raise_high_water(struct segment *segment, uint32_t *ret_index)
{
    uint32_t *high_water = &segment->header->shared.high_water;
    uint32_t index = annot_load_relaxed(high_water);
    do {
        if (index >= segment->block_count)
            return -ENOBUFS;
        /* Partner: other claimers only; the collector reads it as a hint. */
    } while (!annot_cas_acq_rel(high_water, &index, index + 1));
    TESTPOINT("claim:raised");
    *ret_index = index;
    return 0;
}

static int extent_is_backed(const struct segment *segment, uint32_t extent)
{
    /* Partner: reserve_extent of the thread that reserved it. */
    uint64_t word = annot_load_acquire(&segment->header->shared.backed_extents[extent / 64]);
    return (word >> (extent % 64) & 1) != 0;
}

static APART int reserve_extent(struct segment *segment, uint32_t extent)
{
    uint32_t first = extent * BLOCKS_PER_EXTENT;
    uint32_t count = segment->block_count - first;
    if (count > BLOCKS_PER_EXTENT)
        count = BLOCKS_PER_EXTENT;
    int error = segment_populate(segment, segment_block(segment, first),
                                 (uint64_t)count * ANNOT_BLOCK_SIZE);
    if (error)
        return error;
    /* Partner: extent_is_backed. */
    annot_fetch_or_release(&segment->header->shared.backed_extents[extent / 64],
                           UINT64_C(1) << (extent % 64));
    return 0;
}

static APART int reserve_block(struct segment *segment, uint32_t index)
{
    uint32_t *state = &segment->block_states[index];
    if (segment_populate(segment, segment_block(segment, index), ANNOT_BLOCK_SIZE) != 0) {
        annot_store_relaxed(&segment->no_memory_until, clock_now() + NO_MEMORY_PAUSE_TICKS);
        return -ENOMEM;
    }
    annot_store_relaxed(state, annot_load_relaxed(state) | ANNOT_BLOCK_BACKED); /* it is FREE */
    return 0;
}

static int reserves_extent(uint32_t index)
{
    return index < BLOCKS_PER_EXTENT ? index == FIRST_BLOCKS_ALONE : index % BLOCKS_PER_EXTENT == 0;
}

static APART int is_put_off(const struct segment *segment)
{
    return clock_now() < annot_load_relaxed(&segment->no_memory_until);
}

/* The claimer of an extent's first block (of the first extent: the third) reserves the whole; a
 * claimer that comes before it is done reserves its own block and does not wait. */
static APART int make_backed(struct segment *segment, uint32_t index)
{
    if (annot_load_relaxed(&segment->block_states[index]) & ANNOT_BLOCK_BACKED ||
        extent_is_backed(segment, index / BLOCKS_PER_EXTENT))
        return 0;
    if (is_put_off(segment))
        return -ENOMEM;
    if (reserves_extent(index) && reserve_extent(segment, index / BLOCKS_PER_EXTENT) == 0)
        return 0;
    return reserve_block(segment, index);
}

int block_available(const struct segment *segment)
{
    return (uint32_t)annot_load_relaxed(&segment->header->shared.free_head) != 0 ||
           annot_load_relaxed(&segment->header->shared.high_water) < segment->block_count;
}

static APART int take(struct segment *segment, uint32_t *ret_index)
{
    int error = pop(segment, ret_index);
    return error ? raise_high_water(segment, ret_index) : 0;
}

int block_claim(struct segment *segment, uint32_t *ret_index)
{
    if (take(segment, ret_index) != 0)
        return -ENOBUFS;
    uint32_t index = *ret_index;
    int error = make_backed(segment, index);
    if (error) {
        block_push(segment, index);
        return error;
    }
    return 0;
}

uint32_t block_publish(struct segment *segment, uint32_t index, enum annot_block_state as)
{
    uint32_t old = annot_load_relaxed(&segment->block_states[index]);
    uint32_t tag = (old + ANNOT_BLOCK_TAG) & ANNOT_BLOCK_TAG_MASK;
    uint32_t state = tag | (old & ANNOT_BLOCK_BACKED) | as;
    TESTPOINT("claim:header-filled");
    /* Partner: the collector's acquire load of the state. */
    annot_store_release(&segment->block_states[index], state);
    TESTPOINT("claim:published");
    return state;
}

int block_release(struct segment *segment, uint32_t index)
{
    uint32_t *state = &segment->block_states[index];
    uint32_t old = annot_load_relaxed(state);
    if ((old & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_CLAIMED)
        return 0;
    TESTPOINT("release:before");
    uint32_t rest = old & ~(uint32_t)ANNOT_BLOCK_STATE_MASK;
    /* Partner: the collector's acquire load of the state; overwrite_claim. */
    int done = annot_cas_acq_rel(state, &old, rest | ANNOT_BLOCK_RELEASED);
    TESTPOINT("release:after");
    return done;
}

void block_end_sums(struct segment *segment, uint32_t thread_serial)
{
    uint32_t end = annot_load_relaxed(&segment->header->shared.high_water);
    for (uint32_t i = 0; i < end && i < segment->block_count; i++) {
        uint32_t *state = &segment->block_states[i];
        /* Partner: block_publish, if it is another thread's. */
        uint32_t old = annot_load_acquire(state);
        if ((old & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_SUMS ||
            segment_block(segment, i)->thread_serial != thread_serial)
            continue;
        uint32_t rest = old & ~(uint32_t)ANNOT_BLOCK_STATE_MASK;
        /* Partner: the collector's acquire load of the state. */
        annot_store_release(state, rest | ANNOT_BLOCK_SUMS_DONE);
        annot_fetch_add_relaxed(&segment->sum_blocks, -1u);
    }
}

void block_push(struct segment *segment, uint32_t index)
{
    uint64_t *head = &segment->header->shared.free_head;
    uint64_t old = annot_load_relaxed(head);
    do {
        annot_store_relaxed(&segment->block_nexts[index], (uint32_t)old);
        TESTPOINT("push:next-written");
        /* Partner: the acquire load of the head in pop. */
    } while (!annot_cas_acq_rel(head, &old, head_make(old, index + 1)));
    TESTPOINT("push:done");
}
