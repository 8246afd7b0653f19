/* SPDX-License-Identifier: MIT */
/* Who the processes were that are gone: little each, and found without a walk over all.
 *
 * A later segment may be of the same process, the child of one that is gone, or the parent of one.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_PAST_H
#define ANNOT_INTAKE_PAST_H

#include "map64.h"
#include "vec.h"

/* Who a process is and whose child. */
struct process_who {
    uint64_t identity, parent_identity, start_ticks, at_random_address, pid_ns;
    int32_t pid, ppid; /* in its own namespace */
    uint32_t ordinal;  /* in the trace */
    bool has_parent;   /* in the trace */
};

struct past_entry {
    struct process_who who;
    uint32_t older;   /* one more than the place of the one before with this pid; 0: none */
    uint32_t sibling; /* the same of the next orphan of one parent */
};

/* `{0}` is empty. */
struct intake_past {
    VEC(struct past_entry) entries;
    struct map64 by_identity, by_pid; /* to one more than the place of the youngest */
    struct map64 orphans;             /* by key of the parent that they wait for */
};

/* 0 or -ENOMEM. */
int past_add(struct intake_past *past, const struct process_who *who);
void past_free(struct intake_past *past);

/* Whether both are of one process of the kernel; across an exec, too. */
bool who_same_pid(const struct process_who *a, const struct process_who *b);

/* Whether `candidate` is the parent of `child`, or could be as far as pids tell. */
bool who_is_parent(const struct process_who *child, const struct process_who *candidate);

/* The youngest that is gone with this pid and start, or NULL. */
const struct process_who *past_find(const struct intake_past *past, const struct process_who *who);

/* The youngest that is gone and the parent, or NULL. */
const struct process_who *past_parent(const struct intake_past *past,
                                      const struct process_who *child);

/* Calls back for each that is gone and the newcomer's child; then it has a parent. */
void past_adopt(struct intake_past *past, const struct process_who *newcomer,
                void (*call)(void *context, const struct process_who *child), void *context);

#endif
