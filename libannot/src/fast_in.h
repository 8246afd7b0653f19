/* SPDX-License-Identifier: MIT */
/* The fast path of ranges and marks with only a name and a domain: as fast.h for the default
 * domain.
 *
 * Threads: any. Each returns 1, or 0 without effect: then the general path handles the event. */
#ifndef ANNOT_FAST_IN_H
#define ANNOT_FAST_IN_H

#include "fast.h"

enum { FAST_IN_SIZE = sizeof(struct annot_record) + sizeof(struct annot_attr) };

/* True if strings and filter allow writing it at once. */
static FAST int in_passes(const struct control *control, annot_domain domain, annot_name name)
{
    /* Partner: the collector's stores; any order will do. */
    uint64_t mask = annot_load_relaxed(&annot_mask[0]);
    return (mask >> (domain & 63) & 1) != 0 && name < control->name_limit &&
           fast_is_told(control, domain);
}

static FAST void in_write(uint8_t *at, uint32_t kind, annot_domain domain, annot_name name)
{
    uint64_t time = quick_clock();
    uint64_t *words = (uint64_t *)(at + sizeof(struct annot_record));
    words[0] = 0;
    words[1] = (uint64_t)domain << 32;
    record_base(at, time, record_head(kind, 2, ANNOT_FLAG_ATTR, 0), name);
}

static FAST int in_push(struct control *control, annot_domain domain, annot_name name)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + FAST_IN_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(control->depth >= ANNOT_LIVE_DEPTH) ||
        is_rare(!in_passes(control, domain, name))) {
        control->generation = generation;
        return 0;
    }
    struct annot_block *block = control->block;
    uint8_t *at = record_at(block, committed);
    in_write(at, ANNOT_REC_PUSH, domain, name);
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

static FAST int in_mark(struct control *control, annot_domain domain, annot_name name)
{
    uint64_t generation = control->generation;
    if (!quick_enter(control, generation))
        return 0;
    uint32_t committed = control->committed, next = committed + FAST_IN_SIZE;
    if (is_rare(next > control->quick_limit) || is_rare(!in_passes(control, domain, name))) {
        control->generation = generation;
        return 0;
    }
    in_write(record_at(control->block, committed), ANNOT_REC_MARK, domain, name);
    record_commit_to(control, control->block, next);
    fast_leave(control, generation);
    return 1;
}

#endif
