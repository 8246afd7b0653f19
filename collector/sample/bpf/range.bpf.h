/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Reads the open ranges of the current thread from libannot's live record.
 *
 * The thread itself is interrupted, so its record stands still; it is believed only if it names
 * this thread. In a forked child it is the parent's until the child's first event. */
#ifndef ANNOT_RANGE_BPF_H
#define ANNOT_RANGE_BPF_H

#include "walk.bpf.h"

struct range_owner {
    int32_t pid, tid;
    uint32_t depth;
};

/* Flags for the sample; *ret_depth and `live` (as it lies in memory) if they are known.
 * `head`: who is expected there. */
static __always_inline uint32_t range_read(const struct sampler_head *head, uint64_t word,
                                           uint32_t *ret_depth, uint64_t *live)
{
    struct range_owner owner;
    uint64_t record = 0;

    *ret_depth = 0;
    if (read_user(&record, sizeof(record), word))
        return 0;
    if (!record)
        return SAMPLER_RANGES_KNOWN;
    /* A fork does not copy the page tables of shared memory: what the child has not touched yet, it
     * inherited. Of a process that was not forked nothing is known then. */
    if (read_user(&owner, sizeof(owner), record + LIVE_PID_OFFSET))
        return SAMPLER_RANGES_INHERITED;
    if (owner.tid == 0)
        return 0;
    if (owner.pid != head->ns_pid || owner.tid != head->ns_tid)
        return SAMPLER_RANGES_INHERITED;
    if (owner.depth && read_user(live, LIVE_RANGES * LIVE_RANGE_SIZE, record + LIVE_RANGES_OFFSET))
        return 0;
    *ret_depth = owner.depth;
    return SAMPLER_RANGES_KNOWN;
}

struct range_copying {
    uint32_t depth;
    const uint64_t *live;
    struct sampler_range *ranges;
};

static long range_copy_step(uint32_t index, void *context)
{
    const struct range_copying *copying = context;
    uint32_t at = ((copying->depth - 1 - index) % LIVE_RANGES) * (LIVE_RANGE_SIZE / 8);
    struct sampler_range *range = &copying->ranges[index & (SAMPLER_RANGES_MAX - 1)];
    uint64_t entry = copying->live[at], time = copying->live[at + 1];

    range->name = (uint32_t)entry;
    /* 0 for time stamps. Without a branch, of which verifiers follow both ways each time. */
    range->mark = (uint32_t)(time & -((time - SAMPLER_MARK_END) >> 63));
    return 0;
}

/* Innermost first: as many as are open, at most SAMPLER_RANGES_MAX. */
static __always_inline uint32_t range_copy(uint32_t depth, const uint64_t *live,
                                           struct sampler_range *ranges)
{
    struct range_copying copying = {depth, live, ranges};
    uint32_t count = depth < SAMPLER_RANGES_MAX ? depth : SAMPLER_RANGES_MAX;

    if (count)
        bpf_loop(count, range_copy_step, &copying, 0);
    return count;
}

/* Of the walk's thread: sets its flags and depth. */
static __always_inline void range_walk(struct walk *walk)
{
    if (walk->process.tls_offset == 0 || walk->fsbase == 0)
        return;
    walk->flags |= range_read(&walk->head, walk->fsbase + walk->process.tls_offset,
                              &walk->range_depth, walk->live);
}

#endif
