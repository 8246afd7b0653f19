/* SPDX-License-Identifier: MIT */
/* Blocks, losses and the thread record of one thread: see stream.h. */
#include "stream.h"

#include "block.h"
#include "calls.h"
#include "clock.h"
#include "codes.h"
#include "levels.h"
#include "mix.h"
#include "overwrite.h"
#include "proc.h"
#include "process.h"
#include "record.h"
#include "strings.h"
#include "testpoint.h"
#include "watched.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Scans for dead threads make system calls: about ten scans a second at most. */
#define RECLAIM_PAUSE_TICKS UINT64_C(200000000)

void stream_lose(struct control *control, enum annot_loss cause)
{
    if (cause >= ANNOT_LOSS_COUNT) {
        process_lose_now(cause);
        return;
    }
    if (control->gap_time == 0)
        control->gap_time = clock_now();
    if (control->thread)
        annot_fetch_add_relaxed(&control->thread->lost[cause], UINT64_C(1));
    else
        annot_fetch_add_relaxed(&control->segment->header->shared.lost[cause], UINT64_C(1));
}

static APART int is_late(const struct segment *segment)
{
    const struct annot_control *control = &segment->header->control;
    uint64_t late = annot_load_relaxed(&control->late_ticks);
    uint64_t heartbeat = annot_load_relaxed(&control->heartbeat);
    uint64_t now = clock_now();
    return late != 0 && now > heartbeat && now - heartbeat > late;
}

/* Copies the innermost recorded ranges, outermost first, if there are calls among them. */
static APART void copy_open_calls(struct control *control, struct annot_block *block)
{
    uint32_t at = ANNOT_OPEN_DEPTH, live = control->live_depth, skip = control->code_pending;
    uint32_t level = control->deep_suppressed ? control->deep_suppressed : control->depth;
    for (; level > 0 && at > 0; level--) {
        uint8_t state = level > LEVELS_KEPT ? LEVEL_RECORDED : control->levels[level - 1];
        live -= (uint32_t)levels_is_live(state);
        const struct annot_open *open =
            state == LEVEL_CALL ? &control->codes[level - 1] : levels_live(control, live);
        if (!open)
            break;
        if (state != LEVEL_CALL && state != LEVEL_RECORDED)
            continue;
        if (skip > 0)
            skip--;
        else
            block->open[--at] = *open;
    }
    block->open_count = ANNOT_OPEN_DEPTH - at;
    memmove(block->open, block->open + at, block->open_count * sizeof(block->open[0]));
}

/* Copies the innermost recorded ranges, outermost first. */
static void copy_open(const struct control *control, struct annot_block *block)
{
    const struct annot_thread *thread = control->thread;
    uint32_t count = 0;
    uint32_t level =
        control->live_depth > ANNOT_LIVE_DEPTH ? control->live_depth - ANNOT_LIVE_DEPTH : 0;
    for (; level < control->live_depth; level++) {
        struct annot_open open = thread->live[level % ANNOT_LIVE_DEPTH];
        if (open.instance != 0 && count < control->recorded)
            block->open[count++] = open;
    }
    block->open_count = count;
}

static APART void fill_header(struct control *control, struct annot_block *block)
{
    struct annot_thread *thread = control->thread;
    if (!PLANTED(BUG_COMMITTED_KEPT))
        annot_store_relaxed(&block->committed, 0u);
    block->thread_name = thread->name;
    block->thread_index = (uint32_t)(thread - control->segment->threads);
    block->thread_serial = thread->serial;
    block->sequence = thread->sequence;
    block->tid = thread->tid;
    block->generation = control->segment->made_generation;
    block->gap_time = control->gap_time;
    block->records_before = 0;
    memset(block->lost_before, 0, sizeof(block->lost_before));
    if (control->segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        overwrite_fill(control, block);
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++) {
        uint64_t lost = annot_load_relaxed(&thread->lost[cause]);
        block->lost[cause] = lost - control->reported[cause];
        control->reported[cause] = lost;
    }
    block->kept_depth = control->recorded + control->code_count;
    block->open_depth = block->kept_depth;
    block->first_instance = control->instance;
    memcpy(block->comm, thread->comm, sizeof(block->comm));
    if (control->code_count)
        copy_open_calls(control, block);
    else
        copy_open(control, block);
    clock_both(&block->claim_time, &block->claim_ns);
}

/* ---- Waiting for a free block ---------------------------------------------------------------- */

/* The policy that delays a program rather than lose a record. The control block has the BUSY mark:
 * events of signal handlers in the meantime do not wait, they are counted as interrupted. */

/* The collector visits every millisecond while data flow. */
enum { PAUSE_NS = 100 * 1000, PAUSE_MAX_NS = 2000 * 1000 };

static APART uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Uses the system call itself: nanosleep is a cancellation point, which an event must not be. A
 * signal ends it early, which is harmless. */
static APART void pause_ns(long ns)
{
    const struct timespec pause = {0, ns};
    syscall(SYS_nanosleep, &pause, NULL);
}

/* Decides as the thread's next event would. */
static APART int stays_joined(const struct control *control, uint64_t gate)
{
    uint64_t before = proc_block_signals(); /* a handler that jumps out would leak a reference */
    struct segment *segment = process_join(gate);
    int goes_on = segment == control->segment;
    if (segment)
        segment_put(segment);
    proc_restore_signals(before);
    return goes_on;
}

/* True while the session of the thread is running. The gate changes for other sessions as well:
 * then this checks once per generation. */
static APART int is_recording(const struct control *control, uint64_t *checked)
{
    uint64_t gate = annot_gate_v1.generation;
    if (gate == *checked)
        return 1;
    if (gate == 0)
        return 0;
    *checked = gate;
    return stays_joined(control, gate);
}

static uint64_t heartbeat(const struct segment *segment)
{
    return annot_load_relaxed(&segment->header->control.heartbeat);
}

/* A wait failed while threads held all blocks: the collector has none to free. */
#define ALL_HELD (UINT64_MAX - 1)

static int is_any_released(const struct segment *segment)
{
    for (uint32_t index = 0; index < segment->block_count; index++)
        if ((annot_load_relaxed(&segment->block_states[index]) & ANNOT_BLOCK_STATE_MASK) ==
            ANNOT_BLOCK_RELEASED)
            return 1;
    return 0;
}

/* A block was claimed: enables waiting again. */
static void enable_wait(struct segment *segment)
{
    if (annot_load_relaxed(&segment->failed_heartbeat) == ALL_HELD)
        annot_store_relaxed(&segment->failed_heartbeat, UINT64_MAX);
}

static int is_in_vain(const struct segment *segment)
{
    uint64_t failed = annot_load_relaxed(&segment->failed_heartbeat);
    return failed == heartbeat(segment) || failed == ALL_HELD;
}

static APART int try_claim(struct segment *segment, uint32_t *ret_index)
{
    return block_available(segment) ? block_claim(segment, ret_index) : -ENOBUFS;
}

static APART void note_failed_wait(struct segment *segment)
{
    int any = is_any_released(segment) || block_available(segment);
    annot_store_relaxed(&segment->failed_heartbeat, any ? heartbeat(segment) : ALL_HELD);
}

/* As block_claim, after at most ANNOT_WAIT_MAX_NS. It does not wait without a recording, while the
 * collector is late, or before the collector's next visit after a wait that failed; nor, if threads
 * held all blocks by then, until one of them is claimed again. */
static APART int wait_claim(const struct control *control, uint32_t *ret_index)
{
    uint64_t checked = control->attached_generation;
    if (is_in_vain(control->segment))
        return -ENOBUFS;
    uint64_t end = monotonic_ns() + ANNOT_WAIT_MAX_NS;
    for (long ns = PAUSE_NS; is_recording(control, &checked) && monotonic_ns() < end;) {
        pause_ns(ns);
        int error = try_claim(control->segment, ret_index);
        if (error != -ENOBUFS)
            return error;
        ns = ns < PAUSE_MAX_NS / 2 ? 2 * ns : PAUSE_MAX_NS;
    }
    note_failed_wait(control->segment);
    return -ENOBUFS;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Claims a block as the policy says. */
static APART int claim(const struct control *control, uint32_t *ret_index)
{
    struct segment *segment = control->segment;
    int error = block_available(segment) ? block_claim(segment, ret_index) : -ENOBUFS;
    if (error && segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST &&
        overwrite_claim(segment, ret_index) == 0)
        return 0;
    if (error == 0 && segment->policy == ANNOT_POLICY_WAIT)
        enable_wait(segment);
    if (error == -ENOBUFS && segment->policy == ANNOT_POLICY_WAIT && !is_late(segment))
        return wait_claim(control, ret_index);
    return error;
}

/* Checked when the block changes, but not at each event that finds the pool full. */
static APART int is_foreign(struct control *control)
{
    const struct segment *segment = control->segment;
    if (!control_has_block(control) && segment->policy == ANNOT_POLICY_DROP_NEWEST &&
        !block_available(segment))
        return 0;
    if (!control_is_foreign(control)) {
        control_unshare(control);
        return 0;
    }
    control_share(control);
    control->last_cause = ANNOT_LOSS_SHARED;
    return 1;
}

static APART int begin_block(struct control *control, uint32_t index)
{
    struct segment *segment = control->segment;
    struct annot_block *block = segment_block(segment, index);
    struct annot_thread *thread = control->thread;
    if (PLANTED(BUG_PUBLISHED_EARLY))
        block_publish(segment, index, ANNOT_BLOCK_CLAIMED);
    fill_header(control, block);
    control->gap_time = 0;
    control->gap_pending = 0;
    control->block = block;
    control->block_index = index;
    control->committed = 0;
    control->block_state = block_publish(segment, index, ANNOT_BLOCK_CLAIMED);
    /* For the collector both are hints; block headers are authoritative. */
    annot_store_relaxed(&thread->block, index + 1);
    annot_store_relaxed(&thread->sequence, thread->sequence + 1);
    record_limit(control, ANNOT_BLOCK_DATA_SIZE);
    return 1;
}

/* Sets the cause if there is no block. */
static APART int lack_block(struct control *control, int error)
{
    struct segment *segment = control->segment;
    control->last_cause = ANNOT_LOSS_NO_MEMORY;
    if (error != -ENOBUFS)
        return 0;
    stream_reclaim(segment);
    control->last_cause = is_late(segment) ? ANNOT_LOSS_COLLECTOR_LATE : ANNOT_LOSS_POOL_FULL;
    return 0;
}

int stream_next(struct control *control)
{
    uint32_t index;
    if (is_foreign(control))
        return 0;
    stream_close(control);
    int error = claim(control, &index);
    return error ? lack_block(control, error) : begin_block(control, index);
}

APART void stream_close(struct control *control)
{
    if (!control_has_block(control))
        return;
    if (control->segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        overwrite_count(control);
    control->committed = 0;
    record_limit(control, 0);
    control->block = &control_scrap.block;
    annot_store_relaxed(&control->thread->block, 0u);
    block_release(control->segment, control->block_index);
}

static int take_record(struct segment *segment, uint32_t index)
{
    struct annot_thread *thread = &segment->threads[index];
    uint32_t none = ANNOT_THREAD_FREE;
    /* Partner: the store of FREE by its last owner, here or in the collector. */
    return annot_load_relaxed(&thread->state) == ANNOT_THREAD_FREE &&
           annot_cas_acq_rel(&thread->state, &none, (uint32_t)ANNOT_THREAD_USED);
}

/* Takes a freed record first, then a fresh one. Returns the index or negative errno. */
static int64_t find_record(struct segment *segment)
{
    uint32_t *high = &segment->header->shared.thread_high;
    uint32_t limit = annot_load_acquire(high); /* partner: the swap below */
    if (limit > segment->thread_count)
        limit = segment->thread_count;
    for (uint32_t index = 0; index < limit; index++)
        if (take_record(segment, index))
            return index;
    while (limit < segment->thread_count) {
        struct annot_thread *thread = &segment->threads[limit];
        if (segment_populate(segment, thread, sizeof(*thread)) != 0)
            return -ENOMEM;
        uint32_t index = limit;
        if (annot_cas_acq_rel(high, &limit, index + 1)) {
            if (take_record(segment, index))
                return index;
            limit = index + 1;
        }
    }
    return -ENOSPC;
}

/* Readers skip a record without a tid: it does not belong to one thread yet. */
static void fill_record(struct control *control, struct annot_thread *thread)
{
    struct segment *segment = control->segment;
    control->serial = annot_fetch_add_relaxed(&segment->header->shared.thread_serial, 1u);
    annot_store_relaxed(&thread->tid, 0);
    annot_fence_release(); /* partner: the collector's second load of tid */
    thread->serial = control->serial;
    thread->pid = getpid();
    thread->block = 0;
    TESTPOINT("thread:filling");
    thread->sequence = 0;
    thread->records = 0;
    memset(thread->lost, 0, sizeof(thread->lost));
    prctl(PR_GET_NAME, thread->comm);
    uint32_t name = control->keep->name;
    thread->name = strings_sync_one(segment, name) ? name : 0;
    memcpy(thread->live, control->keep->fork_live, sizeof(thread->live));
    /* Partner: the sampler's load of depth. */
    annot_store_release(&thread->depth, control->live_depth);
    annot_store_release(&thread->tid, proc_tid()); /* partner: the collector's first load of tid */
}

int stream_register(struct control *control)
{
    if (control->thread)
        return 1;
    uint64_t now = clock_now();
    control->last_cause = ANNOT_LOSS_THREAD_LIMIT;
    if (now < control->next_register)
        return 0;
    int64_t index = find_record(control->segment);
    if (index < 0) {
        stream_reclaim(control->segment);
        index = find_record(control->segment);
    }
    if (index < 0) {
        control->next_register = now + RECLAIM_PAUSE_TICKS / 10;
        return 0;
    }
    struct annot_thread *thread = &control->segment->threads[index];
    fill_record(control, thread);
    memset(control->reported, 0, sizeof(control->reported));
    control->thread = thread;
    control->current = control->segment->header->info.identity ^ control->serial * MIX_SERIAL;
    annot_live = thread;
    return 1;
}

static void mark_inherited(struct annot_open *open)
{
    open->instance = 0;
    open->time = ANNOT_OPEN_INHERITED;
}

/* Ranges that were open in the parent at the fork: their pops will have no effect. */
static void inherit_stack(struct control *control)
{
    struct keep *keep = control->keep;
    if (!keep->forking) {
        memset(keep->fork_live, 0, sizeof(keep->fork_live));
        return;
    }
    keep->forking = 0;
    control->depth = keep->fork_depth;
    control->live_depth = keep->fork_live_depth;
    for (uint32_t level = 0; level < keep->fork_depth && level < LEVELS_KEPT; level++)
        if (keep->levels[level] == LEVEL_SHOWN)
            control->shown++;
        else if (levels_is_live(keep->levels[level]))
            keep->levels[level] = LEVEL_INHERITED;
    if (keep->fork_depth > LEVELS_KEPT)
        control->deep_suppressed = LEVELS_KEPT;
    codes_leave_parent(control);
    for (int i = 0; i < ANNOT_LIVE_DEPTH; i++)
        mark_inherited(&keep->fork_live[i]);
    for (uint32_t i = 0; i + ANNOT_LIVE_DEPTH < keep->fork_live_depth && i < SPILL_KEPT; i++)
        mark_inherited(&keep->spill[i]);
}

void stream_attach(struct control *control, struct segment *segment)
{
    for (uint32_t i = 0; i < control->depth && i < LEVELS_KEPT; i++)
        control->levels[i] = LEVEL_RECORDED;
    annot_store_relaxed(&control->segment, segment);
    annot_mask = control->mask = segment->header->control.category_mask;
    control->depth = control->live_depth = control->recorded = 0;
    control->instance = 1;
    control->deep_suppressed = control->deep_counted = 0;
    control->shown = control->hide_later = 0;
    memset(control->keep->scopes, 0, sizeof(control->keep->scopes));
    control->gap_pending = 0;
    control->gap_time = 0;
    control->records = 0; /* also for a thread that gets no record */
    control->block_state = 0;
    control->sharer = 0;
    control->nested_depth = control->nested_pops = 0;
    control->next_register = 0;
    control->id_next = 0;
    control->range_next = control->range_end = 0;
    calls_begin(control, control->keep->forking != 0);
    codes_begin(control);
    watch_attach(control, control->keep->forking != 0);
    inherit_stack(control);
    control->name_limit = strings_sync(segment);
    stream_register(control);
    memset(control->keep->fork_live, 0, sizeof(control->keep->fork_live));
}

/* Adds losses not reported in block headers to the segment's counters. A kill between this and the
 * freeing of the record leaves them in both places: too many, never too few. */
static void hand_over_losses(struct segment *segment, struct annot_thread *thread,
                             const uint64_t *reported)
{
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++) {
        uint64_t lost = annot_load_relaxed(&thread->lost[cause]) - reported[cause];
        if (lost)
            annot_fetch_add_relaxed(&segment->header->shared.lost[cause], lost);
    }
}

void stream_detach(struct control *control)
{
    struct segment *segment = control->segment;
    struct annot_thread *thread = control->thread;
    if (!segment)
        return;
    watch_detach(control);
    stream_close(control);
    if (segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        overwrite_leave(control, segment);
    annot_live = NULL;
    control->thread = NULL;
    annot_store_relaxed(&control->segment, NULL);
    control->mask = NULL;
    control->name_limit = 0;
    if (thread) {
        hand_over_losses(segment, thread, control->reported);
        annot_store_relaxed(&thread->depth, 0u);
        TESTPOINT("thread:before-free");
        /* Partner: take_record. */
        annot_store_release(&thread->state, (uint32_t)ANNOT_THREAD_FREE);
    }
    segment_put(segment);
}

static int is_alive(const struct control *control, uint32_t owner)
{
    pid_t pid = annot_load_relaxed(&control->pid); /* partner: control_take; of the current owner */
    return pid == 0 || proc_thread_alive(pid, (pid_t)owner);
}

/* Makes the caller the owner of an ended thread's control block. Other threads may attempt the
 * same, or may have freed it, and it may have a new owner since, even with the same tid. */
static int take_over(struct control *control, const struct segment *segment)
{
    uint32_t owner = annot_load_relaxed(&control->owner);
    uint32_t mine = CONTROL_RECLAIMED | (uint32_t)proc_tid();
    if (annot_load_relaxed(&control->segment) != segment || owner == 0 ||
        owner & CONTROL_RECLAIMED || is_alive(control, owner))
        return 0;
    TESTPOINT("reclaim:dead");
    if (!annot_cas_acq_rel(&control->owner, &owner, mine)) /* partner: itself, control_give */
        return 0;
    if (annot_load_relaxed(&control->segment) == segment && !is_alive(control, owner))
        return 1;
    annot_cas_acq_rel(&control->owner, &mine, owner); /* unless that one has freed it */
    return 0;
}

static void reclaim_one(struct control *control, void *context)
{
    struct segment *segment = context;
    if (!take_over(control, segment))
        return;
    watch_detach(control);
    struct annot_thread *thread = control->thread;
    if (control_has_block(control) && segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        overwrite_count(control);
    if (control_has_block(control))
        block_release(segment, control->block_index);
    if (segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        overwrite_leave(control, segment);
    uint32_t used = ANNOT_THREAD_USED;
    if (thread && annot_load_relaxed(&thread->serial) == control->serial) {
        hand_over_losses(segment, thread, control->reported);
        /* Partner: take_record. The collector may have been faster. */
        annot_cas_acq_rel(&thread->state, &used, (uint32_t)ANNOT_THREAD_FREE);
    }
    control_give(control);
    segment_put(segment);
}

void stream_reclaim(struct segment *segment)
{
    uint64_t now = clock_now();
    uint64_t next = annot_load_relaxed(&segment->next_reclaim);
    if (now < next)
        return;
    /* Partner: itself; one thread scans. */
    if (annot_cas_acq_rel(&segment->next_reclaim, &next, now + RECLAIM_PAUSE_TICKS))
        control_each(reclaim_one, segment);
}
