/* SPDX-License-Identifier: MIT */
/* The fast path of events that have a name and a domain, and nothing else, for callbacks of tools:
 * what fast.h does for those of the default domain.
 *
 * Threads: any. Each returns 1, or 0 with nothing done: then the public function does it. Where
 * another copy of libannot serves, always 0. */
#ifndef ANNOT_INJECT_FAST_H
#define ANNOT_INJECT_FAST_H

#include "fast.h"

/* An event's name and domain; `domain_string`: the id of the domain's name. */
struct inject_event {
    annot_name name;
    annot_domain domain;
    uint32_t domain_string;
};

enum { INJECT_EVENT_SIZE = sizeof(struct annot_record) + sizeof(struct annot_attr) };

/* Whether strings and filter let it be written at once. */
static FAST int inject_passes(const struct control *control, const struct inject_event *event)
{
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&annot_mask[0]);
    return (mask >> (event->domain & 63) & 1) != 0 && event->name < control->name_limit &&
           event->domain_string < control->name_limit;
}

static FAST void inject_write(struct annot_block *block, uint32_t at, uint64_t time, uint32_t kind,
                              const struct inject_event *event)
{
    uint64_t *words = (uint64_t *)(record_at(block, at) + sizeof(struct annot_record));
    words[0] = 0;
    words[1] = (uint64_t)event->domain << 32;
    record_base(record_at(block, at), time, record_head(kind, 2, ANNOT_FLAG_ATTR, 0), event->name);
}

static FAST int inject_push(struct control *control, const struct inject_event *event)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + INJECT_EVENT_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(control->depth >= ANNOT_LIVE_DEPTH) ||
        is_rare(!inject_passes(control, event))) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = quick_clock();
    inject_write(control->block, committed, time, ANNOT_REC_PUSH, event);
    record_commit_to(control, control->block, next);
    live_note(control, event->domain, 0);
    struct annot_thread *thread = control->thread;
    uint32_t depth = control->live_depth;
    struct annot_open *open = &thread->live[depth % ANNOT_LIVE_DEPTH];
    /* Partner of all four: the sampler, which reads depth first. */
    annot_store_relaxed(&open->name, event->name);
    annot_store_relaxed(&open->instance, control->instance);
    annot_store_relaxed(&open->time, time);
    annot_store_release(&thread->depth, depth + 1);
    control->counts += (control_counts){1, 1, 1, 1};
    fast_leave(control, generation);
    return 1;
}

static FAST int inject_mark(struct control *control, const struct inject_event *event)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + INJECT_EVENT_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(!inject_passes(control, event))) {
        control->generation = generation;
        return 0;
    }
    inject_write(control->block, committed, quick_clock(), ANNOT_REC_MARK, event);
    record_commit_to(control, control->block, next);
    fast_leave(control, generation);
    return 1;
}

/* The innermost range of the thread's own. */
static FAST void inject_pop(struct control *control)
{
    if (__builtin_expect(!quick_pop(control), 0))
        annot_emit_pop();
}

#endif
