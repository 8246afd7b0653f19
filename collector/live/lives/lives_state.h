/* SPDX-License-Identifier: MIT */
/* The state of the registry, shared by lives.c, lives_threads.c and lives_titles.c only.
 *
 * `used_ns` is the earliest time at which somebody saw an image run: what the kernel tells later
 * about a time before it changes when the image began, not which entry it has.
 * Thread-safety: as the registry. */
#ifndef ANNOT_LIVES_STATE_H
#define ANNOT_LIVES_STATE_H

#include "kin.h"
#include "lives.h"
#include "vec.h"

struct fading {
    struct process *life;
    int64_t time_ns;
};

/* What the looks at a process's command line found (lives_titles.c). */
struct title {
    const struct image *image; /* that was looked at */
    int64_t due_ns, pause_ns;
    bool hurried;  /* the last look came soon after the one before, to see the same title again */
    uint64_t seen; /* hash of what the last look found; 0 = no title */
    uint32_t name; /* string in the trace; 0 = none */
    uint32_t changes;
};

/* Every struct process is the first member of one. */
struct life {
    struct process process;
    struct title title;
};

static inline struct title *life_title(struct process *process)
{
    return &((struct life *)process)->title;
}

struct lives {
    struct trace *trace;
    struct map64 by_pid;  /* to the youngest struct process */
    struct map64 threads; /* by process ordinal and tid (tid 0: all of the process), to the first
                             struct thread_record */
    VEC(struct fading) fading; /* from `fading_begin` on, by time */
    size_t fading_begin;
    uint64_t unseen;     /* forgotten ones without an entry */
    int64_t now_ns;      /* the latest time that was told */
    int64_t asleep_ns;   /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    uint64_t served;     /* lives_serve() was called so often */
    int64_t searched_ns; /* segments that were complete by then are found, or unread */
    VEC(int32_t) unread; /* whose, by pid */
    struct kin kin;
    int64_t titles_ns;          /* when titles are looked at next, */
    size_t title_slot;          /* from this entry of by_pid on */
    lives_image_fn *image_call; /* or NULL */
    void *image_context;
};

#endif
