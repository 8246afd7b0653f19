/* SPDX-License-Identifier: MIT */
/* The range stack of a thread: see levels.h. */
#include "levels.h"

#include "record.h"
#include "watched.h"

int levels_can_record(const struct control *control)
{
    return control->deep_suppressed == 0;
}

/* An entry that a deeper range replaces is restored when that one ends. */
static void live_push(struct control *control, uint32_t name, uint32_t instance, uint64_t time)
{
    uint32_t depth = control->live_depth;
    if (!control->thread)
        return;
    if (depth >= ANNOT_LIVE_DEPTH && depth - ANNOT_LIVE_DEPTH < SPILL_KEPT)
        control->keep->spill[depth - ANNOT_LIVE_DEPTH] =
            control->thread->live[depth % ANNOT_LIVE_DEPTH];
    live_put(control, name, instance, time);
}

static void live_pop(struct control *control)
{
    static const struct annot_open unknown;
    if (!control->thread || control->live_depth == 0)
        return;
    uint32_t depth = --control->live_depth;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth);
    if (depth < ANNOT_LIVE_DEPTH)
        return;
    uint32_t outer = depth - ANNOT_LIVE_DEPTH;
    control->thread->live[depth % ANNOT_LIVE_DEPTH] =
        outer < SPILL_KEPT ? control->keep->spill[outer] : unknown;
}

/* Returns the live entry of an index while `depth` are open, or NULL if it was not kept. */
static struct annot_open *live_at(struct control *control, uint32_t depth, uint32_t index)
{
    if (index + ANNOT_LIVE_DEPTH >= depth)
        return &control->thread->live[index % ANNOT_LIVE_DEPTH];
    return index < SPILL_KEPT ? &control->keep->spill[index] : NULL;
}

const struct annot_open *levels_live(struct control *control, uint32_t index)
{
    return live_at(control, control->live_depth, index);
}

void levels_live_set(struct control *control, uint32_t index, const struct annot_open *open)
{
    struct annot_open *entry = live_at(control, control->live_depth, index);
    if (entry)
        *entry = *open;
}

/* Removes the entry that has `inside` entries inside of it. */
static void live_take_out(struct control *control, uint32_t inside)
{
    static const struct annot_open unknown;
    uint32_t depth = control->live_depth;
    if (!control->thread || depth <= inside)
        return;
    if (inside == 0) {
        live_pop(control);
        return;
    }
    uint32_t index = depth - 1 - inside;
    struct annot_open innermost = control->thread->live[(depth - 1) % ANNOT_LIVE_DEPTH];
    /* Partner: the sampler, which reads depth first. In a deep stack outer entries move, too. */
    annot_store_release(&control->thread->depth, depth > ANNOT_LIVE_DEPTH ? 0 : index);
    annot_signal_fence();
    if (depth > ANNOT_LIVE_DEPTH) { /* into the slot of the innermost */
        const struct annot_open *outer = live_at(control, depth, depth - 1 - ANNOT_LIVE_DEPTH);
        control->thread->live[(depth - 1) % ANNOT_LIVE_DEPTH] = outer ? *outer : unknown;
    }
    for (; index + 1 < depth; index++) {
        const struct annot_open *from = live_at(control, depth, index + 1);
        struct annot_open moved = from ? *from : unknown;
        struct annot_open *to = live_at(control, depth - 1, index);
        if (to)
            *to = index + 2 == depth ? innermost : moved;
    }
    control->live_depth = depth - 1;
    annot_store_release(&control->thread->depth, depth - 1);
}

void levels_push(struct control *control, enum level_state state, uint32_t name, uint64_t time,
                 int counted)
{
    uint32_t level = control->depth++;
    if (control->deep_suppressed) {
        control->deep_counted += counted != 0;
        return;
    }
    if (level < LEVELS_KEPT) {
        if (state != LEVEL_RECORDED)
            control->levels[level] = (uint8_t)state;
    } else if (state != LEVEL_RECORDED) {
        control->deep_suppressed = level;
        control->deep_counted = counted != 0;
        return;
    }
    if (state == LEVEL_MASKED)
        return;
    uint32_t instance = state == LEVEL_RECORDED ? control->instance : 0;
    live_push(control, name, instance, time);
    if (state == LEVEL_RECORDED) {
        control->recorded++;
        control->instance = instance_after(control->instance);
    }
}

static enum level_state deep_pop(struct control *control, int *ret_counted)
{
    if (control->depth == control->deep_suppressed)
        control->deep_suppressed = 0;
    *ret_counted = control->deep_counted != 0;
    control->deep_counted -= control->deep_counted != 0;
    return *ret_counted ? LEVEL_DROPPED : LEVEL_MASKED;
}

uint32_t levels_own(const struct control *control)
{
    uint32_t count = control->depth;
    while (count > 0 && count <= LEVELS_KEPT &&
           (control->levels[count - 1] == LEVEL_SHOWN || control->levels[count - 1] == LEVEL_CALL))
        count--;
    return count;
}

/* Removes a level; those inside of it stay. It or they are below LEVELS_KEPT. */
static enum level_state take_out(struct control *control, uint32_t level)
{
    enum level_state state = LEVEL_RECORDED;
    uint32_t inside = 0, last = control->depth - 1;
    if (level < LEVELS_KEPT)
        state = (enum level_state)control->levels[level];
    for (uint32_t i = level; i < last && i + 1 < LEVELS_KEPT; i++) {
        inside += (uint32_t)levels_is_live(control->levels[i + 1]);
        control->levels[i] = control->levels[i + 1];
        if (control->levels[i] == LEVEL_CALL)
            control->codes[i] = control->codes[i + 1];
    }
    if (last < LEVELS_KEPT)
        control->levels[last] = LEVEL_RECORDED;
    control->depth = last;
    if (state != LEVEL_MASKED)
        live_take_out(control, inside);
    return state;
}

static void hide_now(struct control *control, uint32_t skip, uint32_t count)
{
    for (uint32_t level = control->depth; level-- > 0 && count > 0 && control->shown > 0;) {
        if (control->levels[level] != LEVEL_SHOWN)
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        take_out(control, level);
        control->shown--;
        count--;
    }
}

static void apply_hide_later(struct control *control)
{
    uint32_t count = control->hide_later;
    if (count == 0 || control->depth > LEVELS_KEPT)
        return;
    control->hide_later = 0;
    hide_now(control, 0, count);
}

enum level_state levels_pop(struct control *control, int *ret_counted)
{
    if (control->deep_suppressed) {
        control->depth--;
        enum level_state deep = deep_pop(control, ret_counted);
        apply_hide_later(control);
        watch_popped(control);
        return deep;
    }
    enum level_state state = take_out(control, levels_own(control) - 1);
    *ret_counted = state == LEVEL_DROPPED;
    control->recorded -= state == LEVEL_RECORDED;
    apply_hide_later(control);
    watch_popped(control);
    return state;
}

int levels_show(struct control *control, uint32_t name, uint64_t kind)
{
    if (!control->thread || control->depth >= LEVELS_KEPT || name == 0)
        return 0;
    control->levels[control->depth++] = LEVEL_SHOWN;
    control->shown++;
    live_push(control, name, 0, kind);
    return 1;
}

/* Deeper levels have no individual state, so no level below them can be removed. */
void levels_hide(struct control *control, uint32_t skip, uint32_t count)
{
    if (control->depth > LEVELS_KEPT)
        control->hide_later += count;
    else
        hide_now(control, skip, count);
}
