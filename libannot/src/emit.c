/* SPDX-License-Identifier: MIT */
/* The general way of an event: see emit.h.
 *
 * enter (join, register, or notice a signal handler) -> BUSY -> range stack, names, room, record,
 * commit -> ready. Calls that pass the mask are either a record or counted as lost, exactly. */
#include "emit.h"

#include "calls.h"
#include "clock.h"
#include "entry.h"
#include "levels.h"
#include "proc.h"
#include "process.h"
#include "record.h"
#include "spell.h"
#include "stream.h"
#include "strings.h"
#include "write.h"

#include <annot_barrier.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { RANGE_BATCH = 1024 };

/* The task that was just found out has no part in the range stack. */
static int is_foreign_now(const struct control *control, uint64_t time)
{
    return time == 0 && control->last_cause == ANNOT_LOSS_SHARED;
}

static inline __attribute__((always_inline)) void open_range(struct control *control,
                                                             const struct emission *emission)
{
    uint32_t name = 0;
    if (!levels_can_record(control)) {
        stream_lose(control, (enum annot_loss)control->last_cause);
        levels_push(control, LEVEL_DROPPED, 0, 0, 1);
    } else {
        uint64_t time = write_event(control, emission, &name);
        if (is_foreign_now(control, time))
            return;
        levels_push(control, time ? LEVEL_RECORDED : LEVEL_DROPPED, name, time ? time : clock_now(),
                    1);
    }
}

void emit_open(struct control *control, const struct emission *emission)
{
    open_range(control, emission);
}

static void do_push(struct control *control, struct emission *emission)
{
    if (emission->call)
        calls_enter(control, emission);
    else if (entry_passes(control, emission))
        open_range(control, emission);
    else
        levels_push(control, LEVEL_MASKED, 0, 0, 0);
}

void emit_close(struct control *control, const struct emission *pop)
{
    int counted = 0;
    uint32_t own = levels_own(control);
    if (own == 0) {
        if (!process_is_late()) /* else it may be a range that was open before */
            process_misuse(control->segment, ANNOT_MISUSE_POP_EMPTY);
        return;
    }
    uint32_t level = own - 1;
    int is_recorded = control->deep_suppressed == 0 &&
                      (level >= LEVELS_KEPT || control->levels[level] == LEVEL_RECORDED);
    if (!is_recorded) {
        if (levels_pop(control, &counted) == LEVEL_DROPPED && counted)
            stream_lose(control, (enum annot_loss)control->last_cause);
        return;
    }
    uint64_t time = write_event(control, pop, NULL); /* lost or not: the range is closed */
    if (!is_foreign_now(control, time))
        levels_pop(control, &counted);
}

static void do_pop(struct control *control, const struct emission *emission)
{
    if (emission->call)
        calls_leave(control, emission);
    else
        emit_close(control, emission);
}

static uint64_t take_range(struct control *control)
{
    if (control->range_next == control->range_end) {
        control->range_next = process_take_ranges(RANGE_BATCH);
        control->range_end = control->range_next + RANGE_BATCH;
    }
    return process_nonce() | (control->range_next++ & (RANGE_DROPPED - 1));
}

static void do_start(struct control *control, struct emission *emission)
{
    emission->id = 0;
    if (!entry_passes(control, emission))
        return;
    emission->id = take_range(control);
    if (write_event(control, emission, NULL) == 0)
        emission->id |= RANGE_DROPPED;
}

/* Nothing is told of the end of a range that began before this segment was made. */
static void do_end(struct control *control, const struct emission *emission)
{
    const uint64_t counter = (UINT64_C(1) << RANGE_COUNTER_BITS) - 1;
    uint64_t number = emission->id & (RANGE_DROPPED - 1);
    if ((emission->id & ~counter) != process_nonce())
        process_misuse(control->segment, ANNOT_MISUSE_END_FOREIGN);
    else if (number && number <= control->segment->first_range)
        return;
    else if (emission->id & RANGE_DROPPED)
        stream_lose(control, (enum annot_loss)control->last_cause);
    else
        write_event(control, emission, NULL);
}

/* A counter's value is an int64 or a double; what is no number counts as 0. */
static void make_number(struct emission *emission)
{
    if (emission->value_kind == ANNOT_VALUE_UINT64 && emission->value > INT64_MAX) {
        double value = (double)emission->value;
        memcpy(&emission->value, &value, sizeof(value));
        emission->value_kind = ANNOT_VALUE_DOUBLE;
    }
    if (emission->value_kind == ANNOT_VALUE_NONE || emission->value_kind == ANNOT_VALUE_STRING)
        emission->value = 0;
    if (emission->value_kind != ANNOT_VALUE_DOUBLE)
        emission->value_kind = ANNOT_VALUE_INT64;
}

/* Of a track and of its parent. */
static uint64_t ready_names(struct control *control, uint64_t names)
{
    return (uint64_t)spell_ready(control, (uint32_t)(names >> 32)) << 32 |
           spell_ready(control, (uint32_t)names);
}

/* Begins are always written, for the filter must not tear them from their ends. */
static void do_track_begin(struct control *control, struct emission *emission)
{
    emission->hidden = !entry_passes(control, emission);
    if (emission->hidden)
        *emission = (struct emission){.kind = ANNOT_REC_TRACK_BEGIN,
                                      .id = emission->id,
                                      .parent = emission->parent,
                                      .hidden = 1};
    else
        emission->value = ready_names(control, emission->value);
    write_event(control, emission, NULL);
}

static void do_track_mark(struct control *control, struct emission *emission)
{
    if (!entry_passes(control, emission))
        return;
    emission->value = ready_names(control, emission->value);
    write_event(control, emission, NULL);
}

static void normalize(struct emission *emission)
{
    emission->level &= ANNOT_LEVELS - 1;
    if (emission->value_kind > ANNOT_VALUE_STRING)
        emission->value_kind = ANNOT_VALUE_NONE;
    if (emission->kind == ANNOT_REC_COUNTER)
        make_number(emission);
    if (!emission->values)
        emission->value_count = 0;
}

static void dispatch(struct control *control, struct emission *emission)
{
    normalize(emission);
    switch (emission->kind) {
    case ANNOT_REC_NONE:
        break;
    case ANNOT_REC_PUSH:
        do_push(control, emission);
        break;
    case ANNOT_REC_POP:
        do_pop(control, emission);
        break;
    case ANNOT_REC_RANGE_START:
        do_start(control, emission);
        break;
    case ANNOT_REC_RANGE_END:
        do_end(control, emission);
        break;
    case ANNOT_REC_TRACK_BEGIN:
        do_track_begin(control, emission);
        break;
    case ANNOT_REC_TRACK_MARK:
        do_track_mark(control, emission);
        break;
    case ANNOT_REC_TRACK_END:
    case ANNOT_REC_NAME_THREAD:
        write_event(control, emission, NULL);
        break;
    case EMIT_SHOW:
        emission->id =
            (uint64_t)levels_show(control, spell_ready(control, emission->name), emission->value);
        break;
    case EMIT_HIDE:
        levels_hide(control, (uint32_t)emission->id, (uint32_t)emission->value);
        break;
    default:
        if (entry_passes(control, emission))
            write_event(control, emission, NULL);
    }
}

void emit_name_thread(uint32_t name)
{
    int error = errno;
    uint64_t before =
        proc_block_signals(); /* a handler that forks or joins would change all this */
    struct control *control = annot_control;
    if (control == &control_dummy || !IS_BUSY(control->generation))
        control = control_is_foreign(control) ? NULL : entry_take_control();
    if (control)
        control->keep->name = name;
    if (control && control->thread && strings_sync_one(control->segment, name)) {
        /* Partner: the collector's loads; the name follows the thread. */
        annot_store_release(&control->thread->name, name);
        if (control_has_block(control))
            annot_store_release(&control->block->thread_name, name);
    }
    proc_restore_signals(before);
    errno = error;
}

/* From a batch of the thread's, if the control block is known to be its own. */
uint64_t emit_take_id(void)
{
    struct control *control = annot_control;
    if (control->generation != annot_gate_v1.generation)
        return process_take_ids();
    uint64_t next = annot_load_relaxed(&control->id_next);
    while (next % PROCESS_ID_BATCH != 0)
        /* Partner: signal handlers of this thread. */
        if (annot_cas_acq_rel(&control->id_next, &next, next + 1))
            return next;
    next = process_take_ids();
    annot_store_relaxed(&control->id_next, next ? next + 1 : 0);
    return next;
}

__attribute__((noinline, cold)) void emit_general(struct emission *emission)
{
    int error = errno;
    uintptr_t frame = emission->frame ? emission->frame : (uintptr_t)__builtin_frame_address(0);
    uint64_t generation;
    struct control *control = entry_busy(emission, frame, &generation);
    if (control) {
        if (control->nested_depth || control->nested_pops)
            entry_apply_nested(control);
        stream_register(control);
        dispatch(control, emission);
        if (control->nested_depth || control->nested_pops || control->shadow)
            record_limit(control, 0);
        annot_signal_fence();
        control->generation = generation;
    }
    errno = error;
}
