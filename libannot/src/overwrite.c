/* SPDX-License-Identifier: MIT */
/* Overwriting the oldest: see overwrite.h.
 *
 * A hand goes round the blocks. It passes those that are being filled, with records or with sums,
 * and stops at each one that is released or whose sums are done: that one is taken before the hand
 * moves on. So each block is reached one round after it was claimed, or later if it was passed; and
 * a thread's next block, which was claimed after the last one was released, is reached after that
 * one. A thread that was stopped between reading a block's state and taking it fails, because the
 * tag of the block's claim has changed. */
#include "overwrite.h"

#include "stream.h"
#include "testpoint.h"

#include <annot_barrier.h>
#include <errno.h>

/* In addition to one round; more only while other threads keep moving the hand. */
enum { ATTEMPTS_MORE = 64 };

static uint32_t count_records(const struct annot_block *block)
{
    uint32_t committed = annot_load_relaxed(&block->committed), count = 0;
    const uint8_t *at = (const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE;
    const uint8_t *end = at + (committed > ANNOT_BLOCK_DATA_SIZE ? 0 : committed);
    while (at < end) {
        const struct annot_record *record = (const void *)at;
        count += record->kind != ANNOT_REC_PAYLOAD;
        at += record->granules ? record->granules * ANNOT_GRANULE : ANNOT_BLOCK_DATA_SIZE;
    }
    return count;
}

static void lose(struct segment *segment, uint32_t cause, uint64_t count)
{
    if (count)
        annot_fetch_add_relaxed(&segment->header->shared.lost[cause], count);
}

/* Counts all that a thread without any later block ever committed and lost. */
static void emit_thread(struct segment *segment, const struct annot_block *block)
{
    lose(segment, ANNOT_LOSS_OVERWRITTEN, block->records_before + count_records(block));
    for (uint32_t cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        lose(segment, cause, block->lost_before[cause] + block->lost[cause]);
}

static int is_sums(uint32_t state)
{
    return (state & ANNOT_BLOCK_STATE_MASK) == ANNOT_BLOCK_SUMS_DONE;
}

static int is_over(uint32_t state)
{
    return (state & ANNOT_BLOCK_STATE_MASK) == ANNOT_BLOCK_RELEASED || is_sums(state);
}

/* RELEASED -> FREE, for a LAST block TAKEN, if the block's state is still `state`. */
static int take(uint32_t *word, uint32_t state)
{
    if ((state & ANNOT_BLOCK_STATE_MASK) != ANNOT_BLOCK_RELEASED)
        return 0;
    if (PLANTED(BUG_TAKEN_BLINDLY))
        state = annot_load_relaxed(word);
    uint32_t next = state & ANNOT_BLOCK_LAST ? ANNOT_BLOCK_TAKEN : ANNOT_BLOCK_FREE;
    next |= state & ~(uint32_t)ANNOT_BLOCK_STATE_MASK;
    /* Partner: block_release of its thread; overwrite_leave; itself. */
    return annot_cas_acq_rel(word, &state, next);
}

/* SUMS_DONE -> FREE, the same: of a thread that stopped counting. Counted first: a kill may
 * follow. */
static int take_sums(struct segment *segment, uint32_t index, uint32_t state)
{
    uint64_t *lost = &segment->header->shared.lost[ANNOT_LOSS_OVERWRITTEN];
    uint64_t count = annot_load_relaxed(&segment_block(segment, index)->committed) /
                     sizeof(struct annot_wire_sum);
    annot_fetch_add_relaxed(lost, count);
    uint32_t next = (state & ~(uint32_t)ANNOT_BLOCK_STATE_MASK) | ANNOT_BLOCK_FREE;
    /* Partner: block_end_sums of its thread; itself. */
    int taken = annot_cas_acq_rel(&segment->block_states[index], &state, next);
    if (!taken)
        annot_fetch_add_relaxed(lost, -count);
    return taken;
}

/* TAKEN -> FREE. A kill right before that leaves records counted and readable: too many, never too
 * few. */
static void count_last(struct segment *segment, uint32_t index)
{
    uint32_t *word = &segment->block_states[index];
    if (!PLANTED(BUG_LAST_UNCOUNTED))
        emit_thread(segment, segment_block(segment, index));
    TESTPOINT("overwrite:counted");
    annot_store_release(word, annot_load_relaxed(word) & ~(uint32_t)ANNOT_BLOCK_STATE_MASK);
}

int overwrite_claim(struct segment *segment, uint32_t *ret_index)
{
    uint64_t *hand = &segment->hand;
    uint64_t place = annot_load_acquire(hand); /* partner: the swaps below */
    uint32_t passed = 0, attempts = 2 * segment->block_count + ATTEMPTS_MORE;
    for (; passed < segment->block_count && attempts > 0; attempts--) {
        uint32_t index = (uint32_t)(place % segment->block_count);
        uint32_t state = annot_load_acquire(&segment->block_states[index]);
        TESTPOINT("overwrite:state-read");
        uint64_t now = annot_load_acquire(hand); /* the state is from this position of the hand */
        if (now != place) {
            place = now;
            continue;
        }
        int taken = is_sums(state) ? take_sums(segment, index, state)
                                   : take(&segment->block_states[index], state);
        TESTPOINT("overwrite:tried");
        if (!taken && is_over(state))
            continue; /* another thread took it: read again */
        passed += !taken;
        if (annot_cas_acq_rel(hand, &place, place + 1)) /* partner: itself, the loads above */
            place++;
        if (!taken)
            continue;
        if (passed >= segment->block_count / 2) /* some may be of threads that have ended */
            stream_reclaim(segment);
        if (state & ANNOT_BLOCK_LAST)
            count_last(segment, index);
        annot_fence_release(); /* partner: the collector's second load of the state */
        TESTPOINT("overwrite:emptied");
        *ret_index = index;
        return 0;
    }
    return -ENOBUFS;
}

void overwrite_count(struct control *control)
{
    control->records += count_records(control->block);
    /* Partner: the collector's copy; used if the thread has no block left. The record of a dead
     * thread may have another owner by now. */
    if (annot_load_relaxed(&control->thread->serial) == control->serial)
        annot_store_relaxed(&control->thread->records, control->records);
}

void overwrite_fill(const struct control *control, struct annot_block *block)
{
    block->records_before = control->records;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++) {
        uint64_t lost = control->reported[cause];
        block->lost_before[cause] = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
    }
}

void overwrite_leave(const struct control *control, struct segment *segment)
{
    uint32_t *word = &segment->block_states[control->block_index];
    uint32_t rest = control->block_state & ~(uint32_t)ANNOT_BLOCK_STATE_MASK;
    uint32_t released = rest | ANNOT_BLOCK_RELEASED;
    if (control->block_state == 0)
        return;
    TESTPOINT("overwrite:leaving");
    /* Partner: take. */
    if (annot_cas_acq_rel(word, &released, released | ANNOT_BLOCK_LAST))
        return;
    lose(segment, ANNOT_LOSS_OVERWRITTEN, control->records);
    for (uint32_t cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        lose(segment, cause, control->reported[cause]);
}
