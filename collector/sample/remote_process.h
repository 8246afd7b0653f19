/* SPDX-License-Identifier: MIT */
/* A process as the rung of remote reads sees it: its image, its interpreter, its threads and the
 * CPU time they used. A process is a pid and a start, a thread a tid and a start: the numbers come
 * again. Thread-safety: one thread per object. */
#ifndef ANNOT_REMOTE_PROCESS_H
#define ANNOT_REMOTE_PROCESS_H

#include "lives.h"
#include "map64.h"
#include "proc_info.h"
#include "python_remote.h"
#include "vec.h"

enum { REMOTE_THREADS_MAX = 4096, REMOTE_FRAMES_MAX = 512 };

struct remote_thread {
    int32_t tid;
    uint64_t start_ticks;
    uint64_t cpu_ns; /* that its last sample reached */
    int64_t ordinal; /* in the trace; -1: it has no sample yet */
    uint64_t pass;   /* the last one in which the interpreter had it */
};

struct remote_process {
    struct process *entry; /* of the registry, where it hangs; NULL: another one has the pid */
    int32_t pid;
    int end_fd; /* tells how it ended; below 0: none */
    bool waits_exec;
    bool ours; /* it began under our eyes: all of its CPU time is to be told */
    uint64_t start_ticks;
    uint64_t stack_begin; /* where the kernel put the stack of this image: another after an exec */
    struct python_remote *python; /* NULL: no interpreter is known in it (yet) */
    int64_t next_try_ns, pause_ns;
    uint64_t pass;       /* how often its threads were listed */
    struct map64 by_tid; /* to one more than the place in threads */
    VEC(struct remote_thread) threads;
};

/* CPU nanoseconds that a thread used so far, exact where the kernel counts them. False: gone. */
bool remote_cpu_ns(int32_t pid, int32_t tid, uint64_t *ret_ns);

/* Begins with a process, now; NULL: out of memory. `stat` is what was read of it. */
struct remote_process *remote_process_create(struct lives *lives, int32_t pid,
                                             const struct proc_stat *stat, int64_t now_ns);
void remote_process_destroy(struct remote_process *process); /* accepts NULL */

/* NULL: not known. start_ticks 0: whenever it started. */
struct remote_process *remote_process_find(const struct lives *lives, int32_t pid,
                                           uint64_t start_ticks);

/* Looks for its interpreter, seldom if there is none. */
void remote_process_look(struct remote_process *process, int64_t now_ns);
/* Another program runs in it now. */
void remote_process_exec(struct remote_process *process, const struct proc_stat *stat);

/* NULL: not known. Valid until the next add or remove. */
struct remote_thread *remote_thread_find(const struct remote_process *process, int32_t tid);
/* Of a tid that is not known; NULL: out of memory. */
struct remote_thread *remote_thread_add(struct remote_process *process, int32_t tid,
                                        uint64_t start_ticks);
/* The last one takes its place. */
void remote_thread_remove(struct remote_process *process, struct remote_thread *thread);

struct lives_task remote_process_task(const struct remote_process *process);
struct lives_task remote_thread_task(const struct remote_process *process,
                                     const struct remote_thread *thread);

#endif
