/* SPDX-License-Identifier: MIT */
/* Shared by lives.c, lives_entry.c and lives_threads.c only: what the registry keeps.
 *
 * `used_ns` is the earliest time at which somebody saw an image run: what the kernel tells later
 * about a time before it changes when the image began, not which entry it has.
 * Thread-safety: as the registry. */
#ifndef ANNOT_SESSION_PARTS_H
#define ANNOT_SESSION_PARTS_H

#include "kin.h"
#include "lives.h"
#include "vec.h"

/* A task may be asked for until this long after its end. */
#define LIVES_MEMORY_NS INT64_C(30000000000)

/* Times of two clocks are compared with this much of tolerance. */
#define LIVES_SLACK_NS INT64_C(10000000)

/* A thread's name may be told this long after its end, where the machine is busy. */
#define LIVES_LATE_NS INT64_C(10000000000)

struct thread_record {
    struct thread_record *next;         /* with the same tid */
    struct thread_record *next_sibling; /* of the same process */
    int64_t start_ns;                   /* CLOCK_MONOTONIC, 0 = unknown */
    uint64_t start_boot_ns;             /* the same as the kernel says it */
    int64_t used_ns, end_ns;            /* 0 = not yet */
    int64_t ordinal;                    /* -1 = no entry: only its name was told */
    uint32_t name;                      /* what others call it; 0 = nothing */
    int32_t ns_tid;
    bool claimed;
};

struct fading {
    struct process *life;
    int64_t time_ns;
};

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
};

/* NULL: not known. start_ticks 0: the youngest that lived at that time. */
struct process *lives_find_life(const struct lives *lives, int32_t pid, uint64_t start_ticks,
                                int64_t time_ns);

/* The image that ran at that time. */
struct image *life_image(const struct process *life, int64_t time_ns);

/* An exec began the image: if the one before did nothing of its own, its entry goes on as this
 * one's. And back, when that one turns out to have done something; it is without an entry then. */
bool lives_take_over(struct lives *lives, struct image *image);
void lives_give_back(struct lives *lives, struct image *image);

/* Gives the image, and those its process descends from, entries of the trace. 0 or -ENOMEM. */
int lives_enter(struct lives *lives, struct process *life, struct image *image);

/* What the kernel told since, for images that have entries. 0 or -ENOMEM. */
int lives_tell_fork(struct lives *lives, const struct process *life);
void lives_tell_exec(struct lives *lives, const struct process *life, const struct image *image);
void lives_tell_image_end(struct lives *lives, const struct image *image, int64_t time_ns);
void lives_tell_end(struct lives *lives, const struct process *life);

/* Comm and command line, as far as the entry lacks them. 0 or -ENOMEM. */
int lives_tell_texts(struct lives *lives, const struct image *image);

void lives_end_thread(struct lives *lives, uint32_t process, const struct lives_task *task,
                      int64_t time_ns);
void lives_forget_threads(struct lives *lives, uint32_t process);
void lives_free_threads(struct lives *lives);
#endif
