/* SPDX-License-Identifier: MIT */
/* What the kernel tells about other processes.
 *
 * Pids are those of the collector's namespace. A process may end at any time: every answer may be
 * "gone" (-ESRCH or 0). Thread-safety: pure functions. */
#ifndef ANNOT_INTAKE_PROC_H
#define ANNOT_INTAKE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char state; /* 'Z': ended, not yet reaped */
    pid_t ppid;
    int thread_count;     /* of a zombie: more than 1 if only its first thread has ended */
    uint64_t start_ticks; /* since boot */
    int exit_code;        /* wait status of a zombie; 0 if we may not know */
    char comm[16];
};

/* 0, -ESRCH, or -errno if it cannot be found out now. */
int proc_stat(pid_t pid, struct proc_stat *ret_stat);

/* Whether a thread of the process exists, by the tid in the collector's namespace. */
bool proc_thread_exists(pid_t pid, pid_t tid);

/* Address of the AT_RANDOM bytes: changes with each exec. 0 = unknown. */
uint64_t proc_at_random(pid_t pid);

/* 1, 0, or -errno if we may not look. */
int proc_has_mapped(pid_t pid, dev_t device, ino_t inode);

/* Inode of a process's pid namespace; 0 = unknown. pid 0: our own. */
uint64_t proc_pid_namespace(pid_t pid);

/* Finds a process of another namespace by the pid it has there. 0 = gone. */
pid_t proc_find(uint64_t pid_ns, pid_t ns_pid);

/* Calls back for each process: pid and the uid it runs under. */
void proc_each(void (*call)(void *context, pid_t pid, uid_t uid), void *context);

/* CLOCK_MONOTONIC of a start time in ticks; 0 if unknown. */
int64_t proc_ticks_ns(uint64_t ticks);

#endif
