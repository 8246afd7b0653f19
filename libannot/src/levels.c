/* SPDX-License-Identifier: MIT */
/* The range stack of a thread: see levels.h. */
#include "levels.h"

#include "record.h"

int levels_can_record(const struct control *control)
{
    return control->deep_suppressed == 0;
}

/* An entry that a deeper range replaces comes back when that one ends. */
static void live_push(struct control *control, uint32_t name, uint32_t instance, uint64_t time)
{
    uint32_t depth = control->live_depth;
    if (!control->thread)
        return;
    if (depth >= ANNOT_LIVE_DEPTH && depth - ANNOT_LIVE_DEPTH < SPILL_KEPT)
        control->keep->spill[depth - ANNOT_LIVE_DEPTH] =
            control->thread->live[depth % ANNOT_LIVE_DEPTH];
    live_put(control, depth, time, (uint64_t)instance << 32 | name);
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
        control->instance += control->instance == UINT32_MAX ? 2 : 1;
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

enum level_state levels_pop(struct control *control, int *ret_counted)
{
    uint32_t level = --control->depth;
    enum level_state state = LEVEL_RECORDED;
    if (control->deep_suppressed)
        return deep_pop(control, ret_counted);
    if (level < LEVELS_KEPT) {
        state = (enum level_state)control->levels[level];
        control->levels[level] = LEVEL_RECORDED;
    }
    *ret_counted = state == LEVEL_DROPPED;
    if (state == LEVEL_MASKED)
        return state;
    live_pop(control);
    control->recorded -= state == LEVEL_RECORDED;
    return state;
}
