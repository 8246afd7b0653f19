/* SPDX-License-Identifier: MIT */
/* The registry of lives: the one table of processes on the collecting side, and which entry of the
 * trace stands for each of them and their threads.
 *
 * Two parts learn of processes: the intake, from segments, and the sampler, from the kernel. Either
 * may be first, and both must mean the same entry; each hangs here what it keeps of a process. A
 * process is known by pid and start time and by image: each exec begins another. A thread is known
 * by its process, its tid there and its start.
 * Entries of the trace are made when first needed, so that what is neither sampled nor annotated
 * leaves none; but its ancestors, as far as they are known, come with a process. An image that did
 * nothing before its exec, as the copy of its parent that a process is for a moment, leaves its
 * entry to the next one. pids are the collector's, ns_* those of the task's own namespace.
 * start_ticks is field 22 of /proc/PID/stat (1/100 s since boot); times are CLOCK_MONOTONIC.
 * Thread-safety: none. */
#ifndef ANNOT_LIVES_H
#define ANNOT_LIVES_H

#include "trace.h"
#include "vec.h"

struct lives;
struct kin;
struct names;
struct process;
struct segment_source;

enum { LIVES_STATUS_UNKNOWN = -1 };

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct lives *lives_create(struct trace *trace);
void lives_destroy(struct lives *lives);

struct lives_task {
    int32_t pid, tid;         /* tid 0: the process only */
    int32_t ns_pid, ns_tid;   /* 0 = as pid, tid */
    uint64_t start_ticks;     /* of the process */
    uint64_t thread_start_ns; /* CLOCK_BOOTTIME, 0 = unknown: tells reused tids apart */
    bool passing;             /* asked for what the image does not need an entry for: it only lacked
                                 a CPU. Else it ran, waited, or emitted something */
};

/* What a process runs between two execs. */
struct image {
    struct image *before, *after; /* of its process, in order of time */
    struct process *process;
    int64_t begin_ns;     /* 0 = since ever */
    int64_t used_ns;      /* 0 = never */
    int64_t claimed_ns;   /* 0 = not claimed */
    int64_t ordinal;      /* -1 = no entry */
    bool execed;          /* begun by an exec that the kernel told */
    bool own;             /* it did something: its entry is its own */
    bool merged;          /* into the next one, whose entry it has */
    char *comm, *cmdline; /* or NULL */
    /* Of a program with libannot whose segment was found: */
    int64_t served_ns;             /* when the segment was made; 0 = none was found */
    int64_t tls_offset;            /* live words lie there from a thread's pointer; 0 = unknown */
    struct names *names;           /* ids that it gave out; NULL = none, or forgotten */
    struct segment_source *source; /* the intake's; while it hangs here, the image stays */
};

/* A process of the kernel, from its fork to its exit. */
struct process {
    struct process *older; /* with the same pid */
    uint64_t start_ticks;
    int32_t pid, ns_pid;
    struct lives_task parent; /* the thread that forked it; pid 0 = unknown */
    int64_t fork_ns;          /* 0 = not told */
    int64_t end_ns;           /* 0 = lives */
    int wait_status;
    bool fading;                /* in the list of those that will be forgotten */
    struct image *first, *last; /* one at least */
    void *sampled;              /* what the sampler keeps of it; while it hangs here, it stays */
};

/* The kernel told: a fork without exec yet, an exec, the end of a thread or process. The first two
 * fill forked/parent/start, comm and command line of the entry once that exists. Of a process that
 * was there before: an exec at its start. comm and cmdline may be NULL. 0 or -ENOMEM. */
struct lives_fork {
    struct lives_task child, parent;
    int64_t time_ns;
    const char *comm;
};

int lives_fork(struct lives *lives, const struct lives_fork *fork);
int lives_exec(struct lives *lives, const struct lives_task *task, int64_t time_ns,
               const char *comm, const char *cmdline);

/* The same of an exec that was only noticed, by a look that followed another one. A segment that
 * was made between them is of the new program, whose entry goes on. */
struct lives_exec_seen {
    struct lives_task task;
    int64_t since_ns, time_ns; /* of the looks; `since_ns` 0: the first one */
    const char *comm, *cmdline;
};

int lives_exec_seen(struct lives *lives, const struct lives_exec_seen *seen);

/* `wait_status` counts if `process`; LIVES_STATUS_UNKNOWN: nobody told it. Who only sees that
 * somebody is gone may be late: an earlier time that is known stays. */
void lives_exit(struct lives *lives, const struct lives_task *task, int64_t time_ns, bool process,
                int wait_status);

/* What a wait for a process told, where the kernel tells no ends: how it ended, and when, if that
 * is not known yet. */
void lives_wait(struct lives *lives, int32_t pid, int64_t time_ns, int wait_status);

/* Calls back for each process that begins to run another program. */
typedef void lives_image_fn(void *context, int32_t pid);

void lives_watch(struct lives *lives, lives_image_fn *call, void *context);

/* Hangs what the sampler keeps of it on a process, which is made known if it was not. There is one
 * of a pid: what another one has is taken off by the caller. NULL: out of memory. */
struct process *lives_hang(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                           void *sampled);

/* The process of that pid that has something, or NULL. */
struct process *lives_find_sampled(const struct lives *lives, int32_t pid);

/* Looks at the command lines of a few processes that live. One that was replaced by a title
 * (setproctitle, PostgreSQL's workers, Perl's $0) is the name of the entry, unless the program has
 * set another. Call it at each step: it reads /proc 320 times a second at most. 0 or -ENOMEM. */
int lives_read_titles(struct lives *lives, int64_t now_ns);

/* Processes so far that left no entry. */
uint64_t lives_unseen(const struct lives *lives);

/* The kernel's name of a thread (of a process: that of its first thread), for its entry if it has
 * one. */
void lives_thread_comm(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                       const char *comm);

/* The entry of the image that ran at that time, made if there is none. -ENOMEM. */
int64_t lives_process(struct lives *lives, const struct lives_task *task, int64_t time_ns);
int64_t lives_thread(struct lives *lives, const struct lives_task *task, int64_t time_ns);

/* For the intake, which describes entries itself: the entry of the image whose segment was made at
 * created_ns, claimed at most once; of a thread by its first event. Made if there is none or if it
 * is claimed already. pid <= 0: unknown, always a new entry, and no image (NULL). -ENOMEM. */
int64_t lives_claim_process(struct lives *lives, int32_t pid, uint64_t start_ticks,
                            int64_t created_ns, struct image **ret_image);
int64_t lives_claim_thread(struct lives *lives, uint32_t process, int32_t ns_tid, int64_t first_ns);

/* What another thread of its process calls a thread, at a time: for its entry, whenever it gets
 * one. A name that the entry has from elsewhere stays. 0 or -ENOMEM. */
struct lives_name {
    uint32_t process, name; /* ordinals in the trace */
    int32_t ns_tid;
    int64_t time_ns;
};

int lives_name_thread(struct lives *lives, const struct lives_name *told);

/* ---- Programs with libannot ------------------------------------------------------------------ */

/* The segment of an image was found: served_ns, tls_offset and names are set. The names may be the
 * segment's own as long as that is there; else they belong to the image. */
void lives_serve(struct lives *lives, struct image *image);

/* How often that was so: what the sampler knows is news when it differs. */
uint64_t lives_served(const struct lives *lives);

/* The last image of a process that was not told to have ended; start_ticks 0: unknown. Or NULL. */
const struct image *lives_last_image(const struct lives *lives, int32_t pid, uint64_t start_ticks);

/* Segments that were complete by then are found, but those of `unread` processes (pids as we see
 * them; 0 stands for any). 0 or -ENOMEM. */
int lives_note_search(struct lives *lives, int64_t until_ns, const int32_t *unread, size_t count);

/* The ids of the program that served in that process when a range was open (CLOCK_MONOTONIC): those
 * of another one, before or after an exec, mean other names. 0; -EAGAIN: its segment may still be
 * found; -ENOENT: there is none, or nobody knows it any more. */
int lives_names_at(const struct lives *lives, int32_t pid, uint64_t time_ns,
                   struct names **ret_names);

/* No sample of the image can be on its way any more. */
void image_forget_names(struct image *image);

/* Who is whose child, of all processes that had segments. */
struct kin *lives_kin(struct lives *lives);

/* ---- For the other files of the registry ----------------------------------------------------- */

/* NULL: not known. start_ticks 0: the youngest that lived at that time. */
struct process *lives_find_life(const struct lives *lives, int32_t pid, uint64_t start_ticks,
                                int64_t time_ns);

/* The image that ran at that time. */
struct image *life_image(const struct process *life, int64_t time_ns);

void lives_end_thread(struct lives *lives, uint32_t process, const struct lives_task *task,
                      int64_t time_ns);
void lives_forget_threads(struct lives *lives, uint32_t process);
void lives_free_threads(struct lives *lives);

#endif
