/* SPDX-License-Identifier: MIT */
/* Which entry of the trace stands for a process or thread of the kernel.
 *
 * Two parts learn of processes: the intake, from segments, and the sampler, from the kernel. Either
 * may be first, and both must mean the same entry. A process is known by pid and start time and by
 * image: each exec begins another. A thread is known by its process, its tid there and its start.
 * Entries of the trace are made when first needed, so that what is neither sampled nor annotated
 * leaves none; but its ancestors, as far as they are known, come with a process. An image that did
 * nothing before its exec, as the copy of its parent that a process is for a moment, leaves its
 * entry to the next one. pids are the
 * collector's, ns_* those of the task's own namespace. start_ticks is field 22 of /proc/PID/stat
 * (1/100 s since boot); times are CLOCK_MONOTONIC. Thread-safety: none.
 */
#ifndef ANNOT_MODEL_ROSTER_H
#define ANNOT_MODEL_ROSTER_H

#include "trace.h"

struct roster;

enum { ROSTER_STATUS_UNKNOWN = -1 };

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct roster *roster_create(struct trace *trace);
void roster_destroy(struct roster *roster);

struct roster_task {
    int32_t pid, tid;         /* tid 0: the process only */
    int32_t ns_pid, ns_tid;   /* 0 = as pid, tid */
    uint64_t start_ticks;     /* of the process */
    uint64_t thread_start_ns; /* CLOCK_BOOTTIME, 0 = unknown: tells reused tids apart */
    bool passing;             /* asked for what the image does not need an entry for: it only lacked
                                 a CPU. Else it ran, waited, or emitted something */
};

/* The kernel told: a fork without exec yet, an exec, the end of a thread or process. The first two
 * fill forked/parent/start, comm and command line of the entry once that exists. Of a process that
 * was there before: an exec at its start. comm and cmdline may be NULL. 0 or -ENOMEM. */
struct roster_fork {
    struct roster_task child, parent;
    int64_t time_ns;
    const char *comm;
};

int roster_fork(struct roster *roster, const struct roster_fork *fork);
int roster_exec(struct roster *roster, const struct roster_task *task, int64_t time_ns,
                const char *comm, const char *cmdline);
/* `wait_status` counts if `process`; ROSTER_STATUS_UNKNOWN: nobody told it. Who only sees that
 * somebody is gone may be late: an earlier time that is known stays. */
void roster_exit(struct roster *roster, const struct roster_task *task, int64_t time_ns,
                 bool process, int wait_status);

/* What a wait for a process told, where the kernel tells no ends: how it ended, and when, if that
 * is not known yet. */
void roster_wait(struct roster *roster, int32_t pid, int64_t time_ns, int wait_status);

/* Processes so far that left no entry. */
uint64_t roster_unseen(const struct roster *roster);

/* The kernel's name of a thread (of a process: that of its first thread), for its entry if it has
 * one. */
void roster_thread_comm(struct roster *roster, const struct roster_task *task, int64_t time_ns,
                        const char *comm);

/* The entry of the image that ran at that time, made if there is none. -ENOMEM. */
int64_t roster_process(struct roster *roster, const struct roster_task *task, int64_t time_ns);
int64_t roster_thread(struct roster *roster, const struct roster_task *task, int64_t time_ns);

/* For the intake, which describes entries itself: the entry of the image whose segment was made at
 * created_ns, claimed at most once; of a thread by its first event. Made if there is none or if it
 * is claimed already. pid <= 0: unknown, always a new entry. -ENOMEM. */
int64_t roster_claim_process(struct roster *roster, int32_t pid, uint64_t start_ticks,
                             int64_t created_ns);
int64_t roster_claim_thread(struct roster *roster, uint32_t process, int32_t ns_tid,
                            int64_t first_ns);

/* What another thread of its process calls a thread, at a time: for its entry, whenever it gets
 * one. A name that the entry has from elsewhere stays. 0 or -ENOMEM. */
struct roster_name {
    uint32_t process, name; /* ordinals in the trace */
    int32_t ns_tid;
    int64_t time_ns;
};

int roster_name_thread(struct roster *roster, const struct roster_name *told);

#endif
