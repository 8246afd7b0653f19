/* SPDX-License-Identifier: MIT */
/* The general path of an event: see emit.h.
 *
 * enter (join, register, or detect a signal handler) -> BUSY -> range stack, names, room, record,
 * commit -> ready. Calls that pass the mask are either a record or counted as lost, exactly. */
#include "emit.h"

#include "calls.h"
#include "clock.h"
#include "codes.h"
#include "entry.h"
#include "levels.h"
#include "proc.h"
#include "process.h"
#include "record.h"
#include "spell.h"
#include "stream.h"
#include "strings.h"
#include "watched.h"
#include "write.h"

#include <annot_barrier.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { RANGE_BATCH = 1024 };

/* True if the caller was just found to be a foreign task, which must not change the range stack. */
static int is_foreign_now(const struct control *control, uint64_t time)
{
    return time == 0 && control->last_cause == ANNOT_LOSS_SHARED;
}

/* ---- Before the record ------------------------------------------------------------------------
 *
 * Each returns 1 if a record is to be written, else 0. They return before the write begins, and the
 * functions of the next section run after it: their frames don't add up. */

static APART int begin_open(struct control *control)
{
    if (levels_can_record(control))
        return 1;
    stream_lose(control, (enum annot_loss)control->last_cause);
    levels_push(control, LEVEL_DROPPED, 0, 0, 1);
    return 0;
}

static int begin_push(struct control *control, const struct emission *emission)
{
    if (entry_passes(control, emission))
        return begin_open(control);
    levels_push(control, LEVEL_MASKED, 0, 0, 0);
    return 0;
}

/* In a process that joined late it may end a range that was open before. */
static int pop_empty(const struct control *control)
{
    if (!process_is_late())
        process_misuse(control->segment, ANNOT_MISUSE_POP_EMPTY);
    return 0;
}

static APART int begin_pop(struct control *control)
{
    int counted = 0;
    uint32_t own = levels_own(control);
    if (own == 0)
        return pop_empty(control);
    uint32_t level = own - 1;
    if (control->deep_suppressed == 0 &&
        (level >= LEVELS_KEPT || control->levels[level] == LEVEL_RECORDED)) {
        if (control->code_count)
            codes_close_above(control, level);
        return 1;
    }
    if (levels_pop(control, &counted) == LEVEL_DROPPED && counted)
        stream_lose(control, (enum annot_loss)control->last_cause);
    return 0;
}

static uint64_t take_range(struct control *control)
{
    if (control->range_next == control->range_end) {
        control->range_next = process_take_ranges(RANGE_BATCH);
        control->range_end = control->range_next + RANGE_BATCH;
    }
    return process_nonce() | (control->range_next++ & (RANGE_DROPPED - 1) & ~WATCH_ID_BITS);
}

static int begin_start(struct control *control, struct emission *emission)
{
    emission->id = 0;
    if (!entry_passes(control, emission))
        return 0;
    emission->id = take_range(control);
    return 1;
}

/* The end of a range that began before this segment was made is dropped silently. */
static int begin_end(struct control *control, struct emission *emission)
{
    const uint64_t counter = (UINT64_C(1) << RANGE_COUNTER_BITS) - 1;
    int is_held = (emission->id & WATCH_ID_BITS) != 0;
    emission->id &= ~WATCH_ID_BITS;
    uint64_t number = emission->id & (RANGE_DROPPED - 1);
    int is_old = number && number <= control->segment->first_range;
    if ((emission->id & ~counter) != process_nonce())
        process_misuse(control->segment, ANNOT_MISUSE_END_FOREIGN);
    else if (is_old || (is_held && (emission->id & counter) == 0)) /* watched, not recorded */
        return 0;
    else if (emission->id & RANGE_DROPPED)
        stream_lose(control, (enum annot_loss)control->last_cause);
    else
        return 1;
    return 0;
}

/* A counter's value is an int64 or a double; other kinds count as 0. */
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

/* The names of a track and of its parent. */
static uint64_t ready_names(struct control *control, uint64_t names)
{
    return (uint64_t)spell_ready(control, (uint32_t)(names >> 32)) << 32 |
           spell_ready(control, (uint32_t)names);
}

/* Begins are always written, because the filter must not separate them from their ends. */
static int begin_track(struct control *control, struct emission *emission)
{
    emission->hidden = !entry_passes(control, emission);
    if (emission->hidden && emission->kind == ANNOT_REC_TRACK_MARK)
        return 0;
    if (emission->hidden)
        *emission = (struct emission){.kind = ANNOT_REC_TRACK_BEGIN,
                                      .id = emission->id,
                                      .parent = emission->parent,
                                      .hidden = 1};
    else
        emission->value = ready_names(control, emission->value);
    return 1;
}

static void count_queue(const struct control *control, enum annot_queue_total total)
{
    annot_fetch_add_relaxed(&control->segment->header->queues[total], UINT64_C(1));
}

/* Copies the strings that it refers to into the segment before the record. */
static int span_is_ready(struct control *control, const struct emission *emission)
{
    uint32_t clock = (uint32_t)emission->parent, queue = emission->color;
    if (queue == 0 || (queue != ANNOT_SPAN_OWN_LANE && !spell_ready(control, queue)))
        return 0;
    return clock == 0 || clock == ANNOT_SPAN_MONOTONIC || spell_ready(control, clock);
}

static APART int begin_span(struct control *control, struct emission *emission)
{
    if (emission->is_launched)
        count_queue(control, ANNOT_QUEUE_TOTAL_REPORTED);
    if (!entry_passes(control, emission))
        return 0;
    if (emission->begin == 0 || emission->value < emission->begin) {
        count_queue(control, ANNOT_QUEUE_TOTAL_UNTIMED);
        return 0;
    }
    if (span_is_ready(control, emission)) {
        if ((uint32_t)emission->parent == ANNOT_SPAN_MONOTONIC) {
            emission->begin = clock_machine_ns(emission->begin);
            emission->value = clock_machine_ns(emission->value);
        }
        return 1;
    }
    control->last_cause = ANNOT_LOSS_NO_MEMORY;
    stream_lose(control, ANNOT_LOSS_NO_MEMORY);
    return 0;
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

static APART int begin(struct control *control, struct emission *emission)
{
    normalize(emission);
    switch (emission->kind) {
    case ANNOT_REC_NONE:
        return 0;
    case ANNOT_REC_PUSH:
        return begin_push(control, emission);
    case ANNOT_REC_POP:
        return begin_pop(control);
    case ANNOT_REC_RANGE_START:
        return begin_start(control, emission);
    case ANNOT_REC_RANGE_END:
        return begin_end(control, emission);
    case ANNOT_REC_TRACK_BEGIN:
    case ANNOT_REC_TRACK_MARK:
        return begin_track(control, emission);
    case ANNOT_REC_TRACK_END:
    case ANNOT_REC_NAME_THREAD:
    case ANNOT_REC_CLOCK:
        return 1;
    case ANNOT_REC_SPAN:
        return begin_span(control, emission);
    case EMIT_SHOW:
        emission->id =
            (uint64_t)levels_show(control, spell_ready(control, emission->name), emission->value);
        return 0;
    case EMIT_HIDE:
        levels_hide(control, (uint32_t)emission->id, (uint32_t)emission->value);
        return 0;
    case EMIT_MEET:
        if (stream_register(control) && !control_has_block(control))
            stream_next(control);
        return 0;
    case EMIT_POP_EMPTY:
        return pop_empty(control);
    default:
        return entry_passes(control, emission);
    }
}

/* ---- After the record ------------------------------------------------------------------------ */

/* `time`: of the record, or 0 if it is lost. */
static APART void end_push(struct control *control, const struct emission *emission, uint64_t time)
{
    if (is_foreign_now(control, time))
        return;
    if (time && (emission->domain | emission->category))
        live_note(control, emission->domain, emission->category);
    levels_push(control, time ? LEVEL_RECORDED : LEVEL_DROPPED, write_name(control),
                time ? time : clock_now(), 1);
}

/* Closes the range, even if the record is lost. */
static APART void end_pop(struct control *control, uint64_t time)
{
    int counted;
    uint32_t level = levels_own(control) - 1;
    uint32_t closed = control->codes ? codes_from(control, level + 1) : 0;
    control->code_count += closed;
    if (is_foreign_now(control, time))
        return;
    levels_pop(control, &counted);
    control->code_count -= closed;
    if (closed)
        codes_reopen(control, level);
}

static APART void end(struct control *control, struct emission *emission, uint64_t time)
{
    if (emission->kind == ANNOT_REC_PUSH)
        end_push(control, emission, time);
    else if (emission->kind == ANNOT_REC_POP)
        end_pop(control, time);
    else if (emission->kind == ANNOT_REC_RANGE_START && time == 0)
        emission->id |= RANGE_DROPPED;
}

/* ---- Both -------------------------------------------------------------------------------------
 */

/* Handles a call or a return of an instrumented function, after closing calls that were left. */
static APART void call(struct control *control, struct emission *emission)
{
    static const struct emission pop = {.kind = ANNOT_REC_POP};
    uint32_t count = calls_left(control, emission);
    while (calls_have_range(control, count)) {
        uint32_t depth = control->depth;
        if (begin_pop(control))
            end_pop(control, write_event(control, &pop));
        if (control->depth >= depth) /* a foreign task was detected: it must not change the stack */
            return;
    }
    if (emission->kind == ANNOT_REC_PUSH && calls_enter(control, emission) && begin_open(control))
        end_push(control, emission, write_event(control, emission));
}

void emit_name_thread(uint32_t name)
{
    int error = errno;
    uint64_t before =
        proc_block_signals(); /* a handler that forks or joins would change all this */
    struct control *control = annot_control;
    if (control == &control_dummy || !IS_BUSY(control->generation))
        control = control_is_foreign(control) ? NULL : control_take_with_end();
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
    emit_from(emission, stack_pointer());
}

/* The general path while ranges are watched. */
static APART void emit_watched(struct control *control, struct emission *emission,
                               uint64_t generation)
{
    struct watch_news news = {0};
    if (control->nested_depth || control->nested_pops)
        entry_apply_nested(control);
    stream_register(control);
    uint32_t own = control_own(control);
    watch_see(control, emission, &news);
    if (emission->is_call) {
        call(control, emission);
    } else if (emission->is_code) {
        codes_event(control, emission);
    } else if (begin(control, emission)) {
        news.time = write_event(control, emission);
        end(control, emission, news.time);
    }
    watch_note(control, emission, own, &news);
    if (control->nested_depth || control->nested_pops || control->shadow)
        record_limit(control, 0);
    annot_signal_fence();
    control->generation = generation;
    if (news.time)
        watch_emit(&news);
}

__attribute__((noinline, cold)) void emit_from(struct emission *emission, uintptr_t frame)
{
    struct entry entry = {.error = errno};
    struct control *control = entry_busy(emission, frame, &entry);
    if (control && watch_is_on(control)) {
        emit_watched(control, emission, entry.generation);
    } else if (control) {
        if (control->nested_depth || control->nested_pops)
            entry_apply_nested(control);
        stream_register(control);
        if (emission->is_call)
            call(control, emission);
        else if (emission->is_code)
            codes_event(control, emission);
        else if (begin(control, emission))
            end(control, emission, write_event(control, emission));
        if (control->nested_depth || control->nested_pops || control->shadow)
            record_limit(control, 0);
        annot_signal_fence();
        control->generation = entry.generation;
    }
    errno = entry.error;
}
