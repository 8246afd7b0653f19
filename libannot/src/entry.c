/* SPDX-License-Identifier: MIT */
/* Entry of an event: see entry.h. */
#include "entry.h"

#include "clock.h"
#include "levels.h"
#include "proc.h"
#include "process.h"
#include "record.h"
#include "stream.h"
#include "thread_names.h"
#include "watched.h"

#include <annot_barrier.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>

/* Stack address of the thread's join in progress, or 0: guards the time before the BUSY mark. */
static __thread uintptr_t joining __attribute__((tls_model("initial-exec")));

/* Filtered begins of ranges on a track are written, too, because their ends would close others. */
static int always_passes(uint8_t kind)
{
    return kind == ANNOT_REC_POP || kind == ANNOT_REC_RANGE_END || kind == ANNOT_REC_TRACK_BEGIN ||
           kind == ANNOT_REC_TRACK_END || kind == ANNOT_REC_NAME_THREAD || kind == ANNOT_REC_CLOCK;
}

int entry_passes(const struct control *control, const struct emission *emission)
{
    uint32_t number = emission->category ? emission->category : emission->domain;
    if (!control->mask)
        return 1;
    if (!watch_records(control) && emission->kind != ANNOT_REC_SPAN)
        return 0;
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&control->mask[emission->level & (ANNOT_LEVELS - 1)]);
    return (mask >> (number & 63) & 1) != 0;
}

/* Counts an event of a task that shares the thread's storage, without touching the thread's state.
 * Filters are not applied, so the count may be too high. */
static void lose_foreign(struct emission *emission)
{
    if (emission->kind == ANNOT_REC_NONE || emission->kind >= EMIT_SHOW ||
        (emission->kind == ANNOT_REC_RANGE_END && emission->id == 0))
        return;
    if (emission->kind == ANNOT_REC_RANGE_START)
        emission->id = process_nonce() | RANGE_DROPPED;
    process_lose_now(ANNOT_LOSS_SHARED);
}

/* ---- Signal handlers that met a commit of their own thread ----------------------------------- */

static void nested_lose(struct control *control, const struct emission *emission)
{
    if (emission->kind == ANNOT_REC_RANGE_END && emission->id == 0)
        return;
    if (control->segment && !control->shadow) {
        stream_lose(control, ANNOT_LOSS_INTERRUPTED);
        return;
    }
    process_lose(ANNOT_LOSS_INTERRUPTED);
    if (control->shadow) /* a child may live and end in the handler that made it */
        process_emit_losses(annot_gate_v1.generation);
}

/* Counts the event, which cannot be recorded; the next uninterrupted event corrects the stack. */
static void nested(struct control *control, struct emission *emission)
{
    int counts = always_passes(emission->kind) || entry_passes(control, emission);
    if (emission->kind == ANNOT_REC_NONE || emission->kind >= EMIT_SHOW)
        return;
    if (emission->is_code) {
        counts = emission->kind == ANNOT_REC_PUSH; /* its end has no effect */
    } else if (emission->kind == ANNOT_REC_PUSH) {
        control->nested_bits = control->nested_bits << 1 | (uint64_t)counts;
        control->nested_depth++;
    } else if (emission->kind == ANNOT_REC_POP && control->nested_depth > 0) {
        counts = (control->nested_bits & 1) != 0;
        control->nested_bits >>= 1;
        control->nested_depth--;
    } else if (emission->kind == ANNOT_REC_POP) {
        control->nested_pops++;
    } else if (emission->kind == ANNOT_REC_RANGE_START && counts) {
        emission->id = process_nonce() | RANGE_DROPPED;
    }
    if (control->nested_depth || control->nested_pops)
        record_limit(control, 0); /* sends the next event here */
    if (counts)
        nested_lose(control, emission);
}

void entry_apply_nested(struct control *control)
{
    int counted;
    uint32_t pops = control->nested_pops;
    control->nested_pops = 0;
    for (; pops > 0 && levels_own(control) > 0; pops--)
        if (levels_pop(control, &counted) == LEVEL_RECORDED)
            control->gap_pending = 1;
    if (control_has_block(control) &&
        !control->gap_pending) /* else the next record opens a block */
        record_limit(control, ANNOT_BLOCK_DATA_SIZE);
    control->last_cause = ANNOT_LOSS_INTERRUPTED;
    uint32_t pushes = control->nested_depth; /* a handler that interrupts this adds its own */
    uint64_t bits = control->nested_bits;
    for (control->nested_depth = 0; pushes > 0; pushes--) {
        int counts = pushes > 64 || (bits >> (pushes - 1) & 1);
        levels_push(control, counts ? LEVEL_DROPPED : LEVEL_MASKED, 0, clock_now(), counts);
    }
}

/* Returns the number after that of the block's last begin. */
static uint32_t count_instances(const struct annot_block *block)
{
    const uint8_t *at = (const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE;
    uint32_t committed =
        block->committed; /* a task that shares the thread's storage may have mixed it up */
    const uint8_t *end = at + (committed < ANNOT_BLOCK_DATA_SIZE ? committed : 0);
    uint32_t instance = block->first_instance;
    while (at < end) {
        const struct annot_record *record = (const void *)at;
        if (record->kind == ANNOT_REC_PUSH)
            instance = instance_after(instance);
        at += record->granules ? record->granules * ANNOT_GRANULE : ANNOT_BLOCK_DATA_SIZE;
    }
    return instance;
}

/* Undoes the marked event, which was left by siglongjmp. A begin may be in the block already; then
 * its number is used up. */
static void repair(struct control *control)
{
    struct annot_block *block = control->block;
    control->generation = 0;
    if (!control_has_block(control))
        return;
    control->committed = block->committed;
    control->instance = count_instances(block);
    control->gap_pending = 1; /* a new block lists the open ranges */
    record_limit(control, 0);
    stream_lose(control, ANNOT_LOSS_INTERRUPTED);
}

/* ---- Joining --------------------------------------------------------------------------------- */

static void leave(void)
{
    struct control *control = annot_control;
    if (control != &control_dummy && control->segment && !control_is_foreign(control))
        stream_detach(control);
}

static struct control *join(uint64_t generation)
{
    struct segment *segment = process_join(generation);
    if (!segment) {
        leave();
        if (!process_takes_no_part(generation)) /* the segment's maker has not finished */
            process_lose(process_is_put_off() ? ANNOT_LOSS_NO_MEMORY : ANNOT_LOSS_INTERRUPTED);
        else
            process_miss();
        return NULL;
    }
    struct control *control = control_take_with_end();
    if (!control) {
        annot_fetch_add_relaxed(&segment->header->shared.lost[ANNOT_LOSS_THREAD_LIMIT],
                                UINT64_C(1));
        segment_put(segment);
        return NULL;
    }
    if (control->segment == segment) {
        segment_put(segment);
    } else {
        stream_detach(control);
        stream_attach(control, segment);
    }
    process_flush(segment);
    thread_names_emit(control);
    control->attached_generation = generation;
    annot_signal_fence();
    control->generation = generation;
    return control;
}

/* A handler that jumped out of a join would leave descriptors open: signals are blocked. */
static struct control *join_undisturbed(uint64_t generation)
{
    if (process_takes_no_part(generation)) {
        leave();
        process_miss();
        return NULL;
    }
    if (process_is_put_off()) {
        process_lose(ANNOT_LOSS_NO_MEMORY);
        return NULL;
    }
    uint64_t before = proc_block_signals();
    struct control *control = join(generation);
    proc_restore_signals(before);
    return control;
}

/* The event that the fork interrupted has ended: from here on the state is that after any fork. */
static void leave_shadow(struct control *control)
{
    uint64_t before = proc_block_signals();
    entry_apply_nested(control);
    control_save_stack(control);
    stream_detach(control);
    control_wipe(control);
    proc_restore_signals(before);
}

/* Returns the control block if the event may go on: the thread is joined and it is not busy. */
static struct control *enter(struct emission *emission, uintptr_t frame)
{
    struct control *control = annot_control;
    uint64_t gate = annot_gate_v1.generation;
    if (gate == 0)
        return NULL;
    int is_busy = control != &control_dummy && IS_BUSY(control->generation);
    if ((is_busy || annot_load_relaxed(&control->sharer)) && control_is_foreign(control)) {
        lose_foreign(emission);
        return NULL;
    }
    if (is_busy) {
        if (!control_is_stale(BUSY_STACK(control->generation), frame)) {
            nested(control, emission);
            return NULL;
        }
        repair(control);
    }
    if (control->shadow)
        leave_shadow(control);
    if (control->generation == gate && control->segment)
        return control;
    if (process_may_join(gate) && control_is_foreign(control)) {
        lose_foreign(emission);
        return NULL;
    }
    if (joining && !control_is_stale(joining, frame)) {
        process_lose(ANNOT_LOSS_INTERRUPTED);
        return NULL;
    }
    joining = frame;
    annot_signal_fence();
    control = join_undisturbed(gate);
    annot_signal_fence();
    joining = 0;
    return control;
}

/* Repeats if a handler forked between enter and the mark: the child has a new control block. */
struct control *entry_busy(struct emission *emission, uintptr_t frame, struct entry *entry)
{
    struct control *control;
    while ((control = enter(emission, frame))) {
        entry->generation = control->generation;
        control->generation = BUSY(frame);
        annot_signal_fence();
        if (control->segment && !control->shadow)
            return control;
        control->generation = 0;
        annot_signal_fence();
    }
    return NULL;
}

/* ---- Ends of threads ------------------------------------------------------------------------- */

/* Other destructors of the thread may end open ranges: there are several rounds of them. Not in the
 * last round: sanitizers free there the state that their C library functions need. */
static int has_another_round(struct control *control)
{
    return control_own(control) > 0 &&
           ++control->keep->endings < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
           control_end_again(control);
}

static void end_thread(void *pointer)
{
    struct control *control = pointer;
    int error = errno;
    if (annot_control == control && has_another_round(control))
        return;
    uint64_t before = proc_block_signals();
    /* Partner: swaps in find_free, some of which come late and fail. */
    if (annot_control == control && annot_load_relaxed(&control->owner) != 0) {
        control->generation = BUSY(stack_pointer());
        annot_signal_fence();
        stream_detach(control);
        annot_control = &control_dummy;
        annot_signal_fence();
        control_give(control);
        process_let_go();
    }
    proc_restore_signals(before);
    errno = error;
}

void entry_setup(void)
{
    control_watch_end(end_thread);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

/* A handler in between could join the next session, or fork: signals are blocked. */
static void leave_before_fork(struct control *control)
{
    uint64_t before = proc_block_signals();
    if (annot_gate_v1.generation == 0) {
        if (control != &control_dummy)
            stream_detach(control);
        process_let_go();
    }
    proc_restore_signals(before);
}

void entry_fork_prepare(void)
{
    struct control *control = annot_control;
    int in_event = control != &control_dummy && (IS_BUSY(control->generation) || control->shadow);
    if (annot_gate_v1.generation == 0 && !in_event)
        leave_before_fork(control);
    control = annot_control; /* a handler may have made one */
    if (control == &control_dummy || !control->keep)
        return;
    control_save_stack(control);
    if (!IS_BUSY(control->generation))
        return;
    control->keep->interrupted = *control;
    control->keep->is_interrupted = 1;
}

void entry_fork_parent(void)
{
    struct control *control = annot_control;
    if (control == &control_dummy || !control->keep)
        return;
    control->keep->is_interrupted = 0;
    if (control->thread)
        control->keep->forking = 0;
}
