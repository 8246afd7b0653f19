/* SPDX-License-Identifier: MIT */
/* The registry of lives: the one table of processes on the collecting side, with the entries of the
 * trace for each of them and their threads.
 *
 * Two parts find processes: the intake, from segments, and the sampler, from the kernel. Either may
 * be first, and both must use the same entry; each attaches its state of a process here. A process
 * is identified by pid and start time and by image: each exec begins another. A thread is
 * identified by its process, its tid there and its start.
 * Entries of the trace are made when first needed, so a process that is neither sampled nor
 * annotated leaves no entry; but its known ancestors come with a process. An image that did nothing
 * before its exec, such as the short-lived copy of a parent after fork, passes its entry to the
 * next one. pids are in the collector's namespace, ns_* in the task's own. start_ticks is field 22
 * of /proc/PID/stat (1/100 s since boot); times are CLOCK_MONOTONIC. Thread-safety: none. */
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
    uint64_t thread_start_ns; /* CLOCK_BOOTTIME, 0 = unknown: distinguishes reused tids */
    bool passing; /* the image needs no entry for this: it only lacked a CPU. Otherwise it ran,
                     waited, or emitted something */
};

/* The program of a process between two execs. */
struct image {
    struct image *before, *after; /* of its process, in order of time */
    struct process *process;
    int64_t begin_ns;     /* 0 = unbounded */
    int64_t used_ns;      /* 0 = never */
    int64_t claimed_ns;   /* 0 = not claimed */
    int64_t ordinal;      /* -1 = no entry */
    bool execed;          /* begun by an exec that the kernel reported */
    bool own;             /* it did something, so it keeps its entry */
    bool merged;          /* into the next one, which shares its entry */
    int64_t since_ns;     /* not 0: its exec was noticed by a look, and is later than this */
    char *comm, *cmdline; /* or NULL */
    int64_t looked_ns;    /* when these were read from /proc; 0 = the kernel reported them */
    char *earlier_comm, *earlier_cmdline; /* read before them; or NULL */
    /* Of a program with libannot and a known segment: */
    int64_t served_ns;             /* when the segment was made; 0 = no segment found */
    int64_t tls_offset;            /* of the live words from a thread's pointer; 0 = unknown */
    struct names *names;           /* its string ids; NULL = absent, or freed */
    struct segment_source *source; /* the intake's; while set, the image is kept */
};

/* A process of the kernel, from its fork to its exit. */
struct process {
    struct process *older; /* with the same pid */
    uint64_t start_ticks;
    int32_t pid, ns_pid;
    struct lives_task parent; /* the thread that forked it; pid 0 = unknown */
    int64_t fork_ns;          /* 0 = not reported */
    int64_t end_ns;           /* 0 = lives */
    int wait_status;
    bool fading;                /* queued for removal */
    struct image *first, *last; /* at least one */
    void *sampled;              /* the sampler's state; while set, the process is kept */
};

/* Kernel events: a fork without exec yet, an exec, the end of a thread or process. The first two
 * fill forked/parent/start, comm and command line of the entry once that exists. A process that
 * existed before counts as an exec at its start. comm and cmdline may be NULL. 0 or -ENOMEM. */
struct lives_fork {
    struct lives_task child, parent;
    int64_t time_ns;
    const char *comm;
};

int lives_fork(struct lives *lives, const struct lives_fork *fork);
int lives_exec(struct lives *lives, const struct lives_task *task, int64_t time_ns,
               const char *comm, const char *cmdline);

/* The comm and command line of the image at `time_ns` were read from /proc at looked_ns. An exec
 * before that look may be reported after it: then they are those of the next image, and this one
 * gets the texts of an earlier look, or none (NULL). 0 or -ENOMEM. */
struct lives_look {
    struct lives_task task;
    int64_t time_ns, looked_ns;
    const char *earlier_comm, *earlier_cmdline;
};

int lives_note_look(struct lives *lives, const struct lives_look *look);

/* An exec detected only by comparing two looks. A segment made between them belongs to the new
 * program, which keeps its entry. */
struct lives_exec_seen {
    struct lives_task task;
    int64_t since_ns, time_ns; /* of the looks; `since_ns` 0: the first one */
    const char *comm, *cmdline;
};

int lives_exec_seen(struct lives *lives, const struct lives_exec_seen *seen);

/* `wait_status` is valid if `process`; LIVES_STATUS_UNKNOWN: unknown status. A report of a mere
 * disappearance may be late: an earlier known time is kept. */
void lives_exit(struct lives *lives, const struct lives_task *task, int64_t time_ns, bool process,
                int wait_status);

/* The result of a wait for a process, where the kernel reports no ends: its status, and its end
 * time if that is not known yet. */
void lives_wait(struct lives *lives, int32_t pid, int64_t time_ns, int wait_status);

/* Called for each process that begins to run another program. */
typedef void lives_image_fn(void *context, int32_t pid);

void lives_watch(struct lives *lives, lives_image_fn *call, void *context);

/* Attaches the sampler's state to a process, which is added if unknown. At most one process of a
 * pid has it: the caller detaches it from another first. NULL: out of memory. */
struct process *lives_hang(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                           void *sampled);

/* The process of that pid with the sampler's state, or NULL. */
struct process *lives_find_sampled(const struct lives *lives, int32_t pid);

/* Reads the command lines of a few living processes. A title in place of one (setproctitle,
 * PostgreSQL's workers, Perl's $0) becomes the name of the entry, unless the program has set
 * another. Call it at each step: it reads /proc 320 times a second at most. 0 or -ENOMEM. */
int lives_read_titles(struct lives *lives, int64_t now_ns);

/* The number of processes so far without an entry. */
uint64_t lives_unseen(const struct lives *lives);

/* Sets the kernel's name of a thread (of a process: that of its first thread) in its entry, if it
 * has one. */
void lives_thread_comm(struct lives *lives, const struct lives_task *task, int64_t time_ns,
                       const char *comm);

/* The entry of the image that ran at that time, added if missing. -ENOMEM. */
int64_t lives_process(struct lives *lives, const struct lives_task *task, int64_t time_ns);
int64_t lives_thread(struct lives *lives, const struct lives_task *task, int64_t time_ns);

/* For the intake, which describes entries itself: claims the entry of the image with a segment made
 * at created_ns, at most once; or of a thread by its first event. Adds one if it is missing or
 * claimed already. pid <= 0: unknown, always a new entry, and no image (NULL). -ENOMEM. */
int64_t lives_claim_process(struct lives *lives, int32_t pid, uint64_t start_ticks,
                            int64_t created_ns, struct image **ret_image);
int64_t lives_claim_thread(struct lives *lives, uint32_t process, int32_t ns_tid, int64_t first_ns);

/* A name for a thread at a time, given by another thread of its process: set in its entry, now or
 * when it gets one. A name from another source is kept. 0 or -ENOMEM. */
struct lives_name {
    uint32_t process, name; /* ordinals in the trace */
    int32_t ns_tid;
    int64_t time_ns;
};

int lives_name_thread(struct lives *lives, const struct lives_name *given);

/* ---- Programs with libannot ------------------------------------------------------------------ */

/* Call when the segment of an image was found, with served_ns, tls_offset and names set. The names
 * may be the segment's own while that is open; else they belong to the image. */
void lives_serve(struct lives *lives, struct image *image);

/* The number of such calls: the sampler refreshes its state when it changes. */
uint64_t lives_served(const struct lives *lives);

/* The last image of a process that is not known to have ended, or NULL; start_ticks 0: unknown. */
const struct image *lives_last_image(const struct lives *lives, int32_t pid, uint64_t start_ticks);

/* Segments that were complete by then are found, except those of `unread` processes (pids in our
 * namespace; 0 stands for any). 0 or -ENOMEM. */
int lives_note_search(struct lives *lives, int64_t until_ns, const int32_t *unread, size_t count);

/* The ids of the program that ran in that process when a range was open (CLOCK_MONOTONIC): before
 * or after an exec the same ids mean other names. 0; -EAGAIN: its segment may still be found;
 * -ENOENT: it has no segment, or its names are freed. */
int lives_names_at(const struct lives *lives, int32_t pid, uint64_t time_ns,
                   struct names **ret_names);

/* Call when no sample of the image can arrive later. */
void image_forget_names(struct image *image);

/* Parents and children of all processes that had segments. */
struct kin *lives_kin(struct lives *lives);

/* ---- For the other files of the registry ----------------------------------------------------- */

/* NULL: unknown. start_ticks 0: the youngest that lived at that time. */
struct process *lives_find_life(const struct lives *lives, int32_t pid, uint64_t start_ticks,
                                int64_t time_ns);

/* The image that ran at that time. */
struct image *life_image(const struct process *life, int64_t time_ns);

void lives_end_thread(struct lives *lives, uint32_t process, const struct lives_task *task,
                      int64_t time_ns);
void lives_forget_threads(struct lives *lives, uint32_t process);
void lives_free_threads(struct lives *lives);

#endif
