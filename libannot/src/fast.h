/* SPDX-License-Identifier: MIT */
/* The fast path: an event of a joined thread with room in its block and the default level and
 * category, or one that the filter drops. No call, no atomic read-modify-write, two plain marks
 * against signal handlers.
 *
 * Threads: any. Each returns 1, or 0 without effect: then emit_general handles the event. */
#ifndef ANNOT_FAST_H
#define ANNOT_FAST_H

#include "control.h"
#include "levels.h"
#include "record.h"
#include "strings.h"

#include <annot/annot.h>

#define FAST inline __attribute__((always_inline))

/* Frame size of the other functions: quick ones mark as if they had it, so that later events can
 * detect one that siglongjmp left. */
enum { FAST_FRAME = 128 };

/* The gate does not change inside of a comparison, so it needs no register. */
static FAST int fast_is_gate(uint64_t generation)
{
    return generation == *(const uint64_t *)&annot_gate_v1.generation;
}

/* Marks the control block busy if the thread is ready and `size` bytes fit. A handler that runs
 * between the check and the mark completes its events: all fields are read after the mark. The
 * record goes to *ret_at of the block. */
static FAST int fast_enter(struct control *control, uint64_t generation, uint32_t size,
                           uint32_t *ret_at)
{
    if (__builtin_expect(!fast_is_gate(generation), 0))
        return 0;
    control->generation = busy_mark(0);
    annot_signal_fence();
    *ret_at = annot_load_relaxed(&control->committed); /* once: see control_is_foreign */
    if (__builtin_expect(*ret_at + size <= control->limit, 1))
        return 1;
    control->generation = generation;
    return 0;
}

static FAST void fast_leave(struct control *control, uint64_t generation)
{
    annot_signal_fence();
    control->generation = generation;
}

/* Partner: the collector's stores; any order will do. */
static FAST int fast_is_wanted(const struct control *control)
{
    return (annot_load_relaxed(&control->mask[0]) & 1) != 0;
}

static FAST int fast_passes(const struct control *control, annot_name name)
{
    return fast_is_wanted(control) && name < control->name_limit;
}

/* True if a domain's or category's name is in the segment; the string that names its observer
 * precedes it. */
static FAST int fast_is_in_segment(const struct control *control, uint16_t number)
{
    /* Partner: append; 0 is not an id. */
    return annot_load_relaxed(&strings_numbered[number]) - 1 < control->name_limit - 1;
}

/* An event that the filter drops needs no record, but a dropped push leaves a level for its pop. */
static FAST int fast_hold_push(struct control *control)
{
    if (control->depth >= ANNOT_LIVE_DEPTH)
        return 0;
    control->levels[control->depth++] = LEVEL_MASKED;
    return 1;
}

static FAST int fast_hold_pop(struct control *control)
{
    uint32_t level = control->depth - 1;
    if (level >= ANNOT_LIVE_DEPTH || control->levels[level] != LEVEL_MASKED)
        return 0;
    control->levels[level] = LEVEL_RECORDED;
    control->depth = level;
    return 1;
}

/* Handles events that fast_enter rejects for lack of a block, if they need none because the filter
 * drops them: a thread may never write a record. Returns as the others do. */
int fast_hold_bare(struct control *control, uint8_t kind, const struct annot_event *event);

static FAST int fast_push(struct control *control, annot_name name)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return fast_hold_bare(control, ANNOT_REC_PUSH, NULL);
    if (__builtin_expect(control->depth >= ANNOT_LIVE_DEPTH || !fast_passes(control, name), 0)) {
        int held = !fast_is_wanted(control) && fast_hold_push(control);
        fast_leave(control, generation);
        return held;
    }
    uint64_t time = clock_now();
    record_base(record_at(control->block, at), time, record_head(ANNOT_REC_PUSH, 1, 0, 0), name);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    live_put(control, name, control->instance, time);
    control->depth++;
    control->recorded++;
    control->instance = instance_after(control->instance);
    fast_leave(control, generation);
    return 1;
}

static FAST int fast_pop(struct control *control)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return fast_hold_bare(control, ANNOT_REC_POP, NULL);
    uint32_t level = control->depth - 1;
    if (__builtin_expect(level >= ANNOT_LIVE_DEPTH || control->levels[level] != LEVEL_RECORDED,
                         0)) {
        int held = fast_hold_pop(control);
        fast_leave(control, generation);
        return held;
    }
    uint32_t recorded = control->recorded - 1, depth = control->live_depth - 1;
    record_base(record_at(control->block, at), clock_now(), record_head(ANNOT_REC_POP, 1, 0, 0),
                recorded + control->code_count);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    control->depth = level;
    control->live_depth = depth;
    control->recorded = recorded;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth);
    fast_leave(control, generation);
    return 1;
}

/* ---- Quick functions --------------------------------------------------------------------------
 *
 * Some processors do no other work while they read the time stamp counter, so that each instruction
 * of an event counts. These functions make no call: such a function saves no registers and needs no
 * frame. A second function handles the rest. */

static FAST int is_rare(int condition)
{
    return __builtin_expect(condition, 0) != 0;
}

static FAST int quick_enter(struct control *control, uint64_t generation)
{
    if (__builtin_expect(!fast_is_gate(generation), 0))
        return 0;
    control->generation = busy_mark(FAST_FRAME);
    annot_signal_fence();
    return 1;
}

/* Reads that can wait follow it: the counter waits for earlier ones. */
static FAST uint64_t quick_clock(void)
{
    uint64_t time = clock_quick();
    annot_signal_fence();
    return time;
}

static FAST int quick_push(struct control *control, annot_name name)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed;
    uint32_t next = committed + (uint32_t)sizeof(struct annot_record);
    if (is_rare(next > control->quick_limit) || is_rare(control->depth >= ANNOT_LIVE_DEPTH) ||
        is_rare(!(annot_load_relaxed(&annot_mask[0]) & 1)) ||
        is_rare(name >= control->name_limit)) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = quick_clock();
    struct annot_block *block = control->block;
    record_base(record_at(block, committed), time, record_head(ANNOT_REC_PUSH, 1, 0, 0), name);
    record_commit_to(control, block, next);
    struct annot_thread *thread = control->thread;
    uint32_t depth = control->live_depth; /* at most control->depth, unless a task shares it */
    uint32_t deeper = depth + 1;
    struct annot_open *open =
        (void *)((uint8_t *)thread->live + depth % ANNOT_LIVE_DEPTH * sizeof(*open));
    /* Partner of all four: the sampler, which reads depth first. */
    annot_store_relaxed(&open->name, name);
    annot_store_relaxed(&open->instance, control->instance);
    annot_store_relaxed(&open->time, time);
    annot_store_release(&thread->depth, deeper);
    control->counts += (control_counts){1, 1, 1, 1};
    fast_leave(control, generation);
    return 1;
}

/* All open ranges must be recorded, without calls: then all counts of levels are equal. */
static FAST int quick_pop(struct control *control)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, depth = control->depth;
    uint32_t next = committed + (uint32_t)sizeof(struct annot_record);
    if (is_rare(next > control->quick_limit) || is_rare(depth != control->recorded) ||
        is_rare(depth - 1 >= ANNOT_LIVE_DEPTH)) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = quick_clock();
    struct annot_block *block = control->block;
    record_base(record_at(block, committed), time, record_head(ANNOT_REC_POP, 1, 0, 0), depth - 1);
    record_commit_to(control, block, next);
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth - 1);
    control->counts += (control_counts){-1U, -1U, -1U, 0};
    fast_leave(control, generation);
    return 1;
}

/* ---- Others -----------------------------------------------------------------------------------
 */

static FAST int fast_mark(struct control *control, annot_name name)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return fast_hold_bare(control, ANNOT_REC_MARK, NULL);
    if (__builtin_expect(!fast_passes(control, name), 0)) {
        int held = !fast_is_wanted(control);
        fast_leave(control, generation);
        return held;
    }
    record_base(record_at(control->block, at), clock_now(), record_head(ANNOT_REC_MARK, 1, 0, 0),
                name);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    fast_leave(control, generation);
    return 1;
}

/* `name` 0: without a name. */
static FAST int fast_flow(struct control *control, uint32_t kind, uint64_t flow, annot_name name)
{
    const uint32_t size = sizeof(struct annot_record) + sizeof(struct annot_id);
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, size, &at))
        return 0;
    if (__builtin_expect(!fast_passes(control, name), 0)) {
        int held = !fast_is_wanted(control);
        fast_leave(control, generation);
        return held;
    }
    uint64_t *id = (uint64_t *)(record_at(control->block, at) + sizeof(struct annot_record));
    id[0] = flow;
    id[1] = 0;
    record_base(record_at(control->block, at), clock_now(), record_head(kind, 2, ANNOT_FLAG_ID, 0),
                name);
    record_commit_to(control, control->block, at + size);
    fast_leave(control, generation);
    return 1;
}

static FAST int fast_knows(const struct control *control, const struct annot_track *track)
{
    return track->name < control->name_limit && track->parent_name < control->name_limit;
}

/* Shows a range of the track that the thread runs. That writes no record, so it always fits: a
 * limit of 0, which sends the next event to the general path, is checked separately. */
static FAST int fast_show(struct control *control, annot_name name, uint64_t kind)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, 0, &at))
        return 0;
    uint32_t level = control->depth;
    int done = control->limit && level < ANNOT_LIVE_DEPTH && name < control->name_limit;
    if (__builtin_expect(done, 1)) {
        live_put(control, name, 0, kind);
        control->levels[level] = LEVEL_SHOWN;
        control->depth = level + 1;
        control->shown++;
    }
    fast_leave(control, generation);
    return done;
}

/* Hides those of `count` that are innermost; returns how many are left to hide. */
static FAST uint32_t fast_hide(struct control *control, uint32_t count)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, 0, &at))
        return count;
    uint32_t level = control->depth, live = control->live_depth;
    if (control->limit && level <= ANNOT_LIVE_DEPTH) {
        for (; count > 0 && level > 0 && control->levels[level - 1] == LEVEL_SHOWN; count--) {
            control->levels[--level] = LEVEL_RECORDED;
            live--;
        }
        control->shown -= control->depth - level;
        control->depth = level;
        control->live_depth = live;
        /* Partner: the sampler, which reads depth first. */
        annot_store_release(&control->thread->depth, live);
        if (control->shown == 0)
            count = 0;
    }
    fast_leave(control, generation);
    return count;
}

static FAST uint64_t fast_track_names(const struct annot_track *track)
{
    return (uint64_t)track->parent_name << 32 | track->name;
}

static FAST int fast_track_begin(struct control *control, const struct annot_track *track,
                                 annot_name name)
{
    const uint32_t size =
        sizeof(struct annot_record) + sizeof(struct annot_attr) + sizeof(struct annot_id);
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, size, &at))
        return 0;
    if (__builtin_expect(!fast_passes(control, name) || !fast_knows(control, track), 0)) {
        control->generation = generation;
        return 0;
    }
    uint64_t *words = (uint64_t *)(record_at(control->block, at) + sizeof(struct annot_record));
    words[0] = fast_track_names(track);
    words[1] = 0;
    words[2] = track->id;
    words[3] = track->parent;
    record_base(record_at(control->block, at), clock_now(),
                record_head(ANNOT_REC_TRACK_BEGIN, 3, ANNOT_FLAG_ATTR | ANNOT_FLAG_ID, 0), name);
    record_commit_to(control, control->block, at + size);
    fast_leave(control, generation);
    return 1;
}

static FAST int fast_track_end(struct control *control, const struct annot_track *track)
{
    const uint32_t size = sizeof(struct annot_record) + sizeof(struct annot_id);
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, size, &at))
        return 0;
    uint64_t *id = (uint64_t *)(record_at(control->block, at) + sizeof(struct annot_record));
    id[0] = track->id;
    id[1] = track->parent;
    record_base(record_at(control->block, at), clock_now(),
                record_head(ANNOT_REC_TRACK_END, 2, ANNOT_FLAG_ID, 0), 0);
    record_commit_to(control, control->block, at + size);
    fast_leave(control, generation);
    return 1;
}

static FAST int fast_counter(struct control *control, annot_name name, uint64_t bits, uint32_t kind)
{
    const uint32_t size = sizeof(struct annot_record) + sizeof(struct annot_attr);
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, size, &at))
        return fast_hold_bare(control, ANNOT_REC_COUNTER, NULL);
    if (__builtin_expect(!fast_passes(control, name), 0)) {
        int held = !fast_is_wanted(control);
        fast_leave(control, generation);
        return held;
    }
    uint64_t *attr = (uint64_t *)(record_at(control->block, at) + sizeof(struct annot_record));
    attr[0] = bits;
    attr[1] = 0;
    record_base(record_at(control->block, at), clock_now(),
                record_head(ANNOT_REC_COUNTER, 2, ANNOT_FLAG_ATTR, kind << 3), name);
    record_commit_to(control, control->block, at + size);
    fast_leave(control, generation);
    return 1;
}

/* ---- Ranges and marks with only a name and a domain ------------------------------------------ */

enum { FAST_IN_SIZE = sizeof(struct annot_record) + sizeof(struct annot_attr) };

/* True if strings and filter allow writing it at once. */
static FAST int fast_passes_in(const struct control *control, annot_domain domain, annot_name name)
{
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&annot_mask[0]);
    return (mask >> (domain & 63) & 1) != 0 && name < control->name_limit &&
           fast_is_in_segment(control, domain);
}

static FAST void fast_write_in(uint8_t *at, uint32_t kind, annot_domain domain, annot_name name)
{
    uint64_t time = quick_clock();
    uint64_t *words = (uint64_t *)(at + sizeof(struct annot_record));
    words[0] = 0;
    words[1] = (uint64_t)domain << 32;
    record_base(at, time, record_head(kind, 2, ANNOT_FLAG_ATTR, 0), name);
}

static FAST int fast_push_in(struct control *control, annot_domain domain, annot_name name)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + FAST_IN_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(control->depth >= ANNOT_LIVE_DEPTH) ||
        is_rare(!fast_passes_in(control, domain, name))) {
        control->generation = generation;
        return 0;
    }
    struct annot_block *block = control->block;
    uint8_t *at = record_at(block, committed);
    fast_write_in(at, ANNOT_REC_PUSH, domain, name);
    record_commit_to(control, block, next);
    struct annot_thread *thread = control->thread;
    uint32_t depth = control->live_depth;
    live_note(control, domain, 0);
    struct annot_open *open = &thread->live[depth % ANNOT_LIVE_DEPTH];
    /* Partner of all four: the sampler, which reads depth first. */
    annot_store_relaxed(&open->name, name);
    annot_store_relaxed(&open->instance, control->instance);
    annot_store_relaxed(&open->time, *(uint64_t *)at);
    annot_store_release(&thread->depth, depth + 1);
    control->counts += (control_counts){1, 1, 1, 1};
    fast_leave(control, generation);
    return 1;
}

static FAST int fast_mark_in(struct control *control, annot_domain domain, annot_name name)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + FAST_IN_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(!fast_passes_in(control, domain, name))) {
        control->generation = generation;
        return 0;
    }
    fast_write_in(record_at(control->block, committed), ANNOT_REC_MARK, domain, name);
    record_commit_to(control, control->block, next);
    fast_leave(control, generation);
    return 1;
}

/* ---- Events with attributes, key-values, or series of a counter ------------------------------ */

/* The parts are written in place, after the record's; an event that cannot be finished was never
 * visible. */

/* PUSH, MARK; with a track, TRACK_BEGIN and TRACK_MARK. */
int fast_event(struct control *control, uint8_t kind, const struct annot_event *event,
               const struct annot_track *track);

int fast_counters(struct control *control, annot_name name, const struct annot_value *values,
                  uint64_t count);

#endif
