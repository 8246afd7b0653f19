/* SPDX-License-Identifier: MIT */
/* The state of the registry, shared by lives.c, lives_threads.c and lives_proc.c only.
 *
 * `used_ns` is the earliest time at which an image was seen to run: a later report by the kernel of
 * an earlier time changes the start of the image, not its entry.
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

/* State of the looks at a process's command line (lives_proc.c). */
struct title {
    const struct image *image; /* at the last look */
    int64_t due_ns, pause_ns;
    bool hurried;  /* the last look followed early, to confirm a new title */
    uint64_t seen; /* hash of the last title; 0 = no title */
    uint32_t name; /* string in the trace; 0 = unset */
    uint32_t changes;
};

/* The allocation of every struct process, as its first member. */
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
    uint64_t unseen;     /* removed without an entry */
    int64_t now_ns;      /* the latest time reported */
    int64_t asleep_ns;   /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    uint64_t served;     /* number of calls of lives_serve() */
    int64_t searched_ns; /* segments that were complete by then are found, or unread */
    VEC(int32_t) unread; /* their pids */
    struct kin kin;
    int64_t titles_ns;          /* time of the next look at titles, */
    size_t title_slot;          /* from this entry of by_pid on */
    lives_image_fn *image_call; /* or NULL */
    void *image_context;
};

#endif
