/* SPDX-License-Identifier: MIT */
/* Who the processes are that had segments, and whose children: little each, and found without a
 * walk over all.
 *
 * A later segment may be of the same process, the child of one that is known, or the parent of one;
 * all of them may be gone. Thread-safety: one thread per object. */
#ifndef ANNOT_KIN_H
#define ANNOT_KIN_H

#include "hash_map.h"
#include "vec.h"

struct segment_source;

/* Who a process is and whose child, as its segment tells. */
struct who {
    uint64_t identity, parent_identity, start_ticks, at_random_address, pid_ns;
    int32_t pid, ppid; /* in its own namespace */
    uint32_t ordinal;  /* in the trace */
};

/* One for each segment. */
struct relative {
    struct who who;
    struct segment_source *source; /* the intake's; NULL: nothing more can be learned of it */
    bool has_parent;               /* in the trace */
    uint32_t older;   /* one more than the place of the one before with this pid; 0: none */
    uint32_t sibling; /* the same of the next orphan of one parent */
};

/* `{0}` is empty. */
struct kin {
    VEC(struct relative) relatives;
    struct map64 by_identity, by_pid; /* to one more than the place of the youngest */
    struct map64 orphans;             /* by key of the parent that they wait for */
};

void kin_free(struct kin *kin);

/* Calls back for its parent and for each child, as far as they are known and no pair yet. Returns
 * its place, or -ENOMEM. */
typedef void kin_pair_fn(void *context, uint32_t child, uint32_t parent); /* ordinals */

int64_t kin_add(struct kin *kin, const struct who *who, struct segment_source *source,
                kin_pair_fn *call, void *context);

/* Of the segment at that place nothing more can be learned. */
void kin_leave(struct kin *kin, uint32_t place);

/* The youngest of that process of the kernel (pid and start), across an exec, too; or NULL. */
const struct relative *kin_find(const struct kin *kin, const struct who *who);

#endif
