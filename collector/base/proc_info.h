/* SPDX-License-Identifier: MIT */
/* What the kernel tells about other processes.
 *
 * Pids are those of the collector's namespace. A process may end at any time: every answer may be
 * "gone" (-ESRCH or 0). Thread-safety: pure functions. */
#ifndef ANNOT_PROC_INFO_H
#define ANNOT_PROC_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char state; /* 'Z': ended, not yet reaped */
    pid_t ppid;
    int thread_count;     /* of a zombie: more than 1 if only its first thread has ended */
    uint64_t start_ticks; /* since boot */
    uint64_t stack_begin; /* of this image: another after an exec; 0 if we may not know */
    uint16_t cpu;         /* where it ran last */
    int exit_code;        /* wait status of a zombie; 0 if we may not know */
    char comm[16];
};

/* 0, -ESRCH, or -errno if it cannot be found out now. */
int proc_stat(pid_t pid, struct proc_stat *ret_stat);
int proc_thread_stat(pid_t pid, pid_t tid, struct proc_stat *ret_stat);

/* Whether a thread of the process exists, by the tid in the collector's namespace. */
bool proc_thread_exists(pid_t pid, pid_t tid);

/* Address of the AT_RANDOM bytes: changes with each exec. 0 = unknown. */
uint64_t proc_at_random(pid_t pid);

/* Inode of a process's pid namespace; 0 = unknown. pid 0: our own. */
uint64_t proc_pid_namespace(pid_t pid);

/* The pid (tid) of a process (thread) in the innermost of its namespaces, from the text of its
 * file status; 0 = unknown. */
pid_t proc_innermost(const char *status);
pid_t proc_pid_inside(pid_t pid);

/* Whether it runs under our uid, or we are root: 0, -EPERM or -ESRCH. */
int proc_check_owner(pid_t pid);

/* Its command line as command_text has it, into COMMAND_TEXT_SIZE bytes; "": it has none. */
void proc_command(pid_t pid, char *command);

/* Reads its memory while it runs on: bytes read, fewer where the mapping ends, or -errno. */
int64_t proc_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size);

/* Finds a process of another namespace by the pid it has there. 0 = gone. */
pid_t proc_find(uint64_t pid_ns, pid_t ns_pid);

/* Calls back for each process: pid and the uid it runs under. */
void proc_each(void (*call)(void *context, pid_t pid, uid_t uid), void *context);

#endif
