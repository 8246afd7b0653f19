/* SPDX-License-Identifier: MIT */
/* Processes that had segments, and their parents: a small entry each, found without a walk over
 * all.
 *
 * A later segment may be of the same process, the child of a known one, or the parent of one; all
 * of them may have ended. Thread-safety: one thread per object. */
#ifndef ANNOT_KIN_H
#define ANNOT_KIN_H

#include "hash_map.h"
#include "vec.h"

struct segment_source;

/* Identity of a process and its parent, from its segment. */
struct who {
    uint64_t identity, parent_identity, start_ticks, at_random_address, pid_ns;
    int32_t pid, ppid; /* in its own namespace */
    uint32_t ordinal;  /* in the trace */
};

/* One for each segment. */
struct relative {
    struct who who;
    struct segment_source *source; /* the intake's; NULL: its segment is done */
    bool has_parent;               /* in the trace */
    uint32_t older;                /* 1 + index of the previous one with this pid; 0: the first */
    uint32_t sibling;              /* likewise, of the next orphan of one parent */
};

/* `{0}` is empty. */
struct kin {
    VEC(struct relative) relatives;
    struct map64 by_identity, by_pid; /* to 1 + index of the youngest */
    struct map64 orphans;             /* by key of the awaited parent */
};

void kin_free(struct kin *kin);

/* Calls back for its parent and for each child that is known and not paired yet. Returns its index,
 * or -ENOMEM. */
typedef void kin_pair_fn(void *context, uint32_t child, uint32_t parent); /* ordinals */

int64_t kin_add(struct kin *kin, const struct who *who, struct segment_source *source,
                kin_pair_fn *call, void *context);

/* Call when the segment at that index is done. */
void kin_leave(struct kin *kin, uint32_t place);

/* The youngest of that kernel process (pid and start), across an exec, too; or NULL. */
const struct relative *kin_find(const struct kin *kin, const struct who *who);

#endif
