/* SPDX-License-Identifier: MIT */
/* Facts of the kernel about other processes: their state, their mappings, their ends. */
#ifndef ANNOT_PROC_INFO_H
#define ANNOT_PROC_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Processes ------------------------------------------------------------------------------- */

/* State of other processes.
 *
 * Pids are those of the collector's namespace. A process may end at any time: every function may
 * report it as ended (-ESRCH or 0). Thread-safety: pure functions. */

struct proc_stat {
    char state; /* 'Z': ended, not yet reaped */
    pid_t ppid;
    int thread_count;     /* of a zombie: more than 1 if only its first thread has ended */
    uint64_t start_ticks; /* since the machine's boot */
    uint64_t stack_begin; /* of this image: changes with an exec; 0 without permission */
    uint16_t cpu;         /* on which it last ran */
    int exit_code;        /* wait status of a zombie; 0 without permission */
    char comm[16];
};

/* 0, -ESRCH, or -errno if it cannot be read at present. */
int proc_stat(pid_t pid, struct proc_stat *ret_stat);
int proc_thread_stat(pid_t pid, pid_t tid, struct proc_stat *ret_stat);

/* True if the process has a thread with this tid of the collector's namespace. */
bool proc_thread_exists(pid_t pid, pid_t tid);

/* Address of the AT_RANDOM bytes: changes with each exec. 0 = unknown. */
uint64_t proc_at_random(pid_t pid);

/* Inode of a process's pid namespace; 0 = unknown. pid 0: this process. */
uint64_t proc_pid_namespace(pid_t pid);

/* The pid (tid) of a process (thread) in the innermost of its namespaces, from the text of its
 * file status; 0 = unknown. */
pid_t proc_innermost(const char *status);
pid_t proc_pid_inside(pid_t pid);
/* The reverse, for a thread of the process. Cost, in another namespace: the status of each of its
 * threads. 0 = not found. */
pid_t proc_tid_outside(pid_t pid, pid_t ns_tid);

/* Checks that it runs under our uid, or that we are root: 0, -EPERM or -ESRCH. */
int proc_check_owner(pid_t pid);

/* Writes its command line, formatted by command_text, into COMMAND_TEXT_SIZE bytes; "": it has no
 * command line. */
void proc_command(pid_t pid, char *command);

/* Reads its memory while it runs: bytes read, fewer at the end of the mapping, or -errno. */
int64_t proc_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size);

/* Finds a process of another namespace by its pid there. 0 = not found. */
pid_t proc_find(uint64_t pid_ns, pid_t ns_pid);

/* Calls back for each process, with pid and uid. */
void proc_each(void (*call)(void *context, pid_t pid, uid_t uid), void *context);

/* ---- Mappings -------------------------------------------------------------------------------- */

/* /proc/PID/maps. Its paths are foreign: any bytes up to the end of the line, with newlines escaped
 * as \012 by the kernel. Thread-safety: pure. */

struct maps_line {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    bool executable;
    const char *path; /* inside the line; "" for anonymous memory */
};

/* `line` ends with NUL; a newline at its end is cut off. false: not a line of this form. */
bool maps_line_parse(char *line, struct maps_line *ret_line);

/* Calls `take` for each mapping of a process (0: this one) until it returns a value other than 0,
 * and returns that; or 0, -ESRCH, -errno. The list may be cut short if the process ends
 * meanwhile. */
typedef int maps_take(void *context, const struct maps_line *line);
int maps_each(int32_t pid, maps_take *take, void *context);

/* ---- Mappings of a file ---------------------------------------------------------------------- */

/* Checks if a process shares a file by a mapping. The collector checks every process before it
 * removes a directory, so this must be cheap. Thread-safety: pure. */

/* 1, 0, or -errno without permission. */
int proc_has_mapped(pid_t pid, dev_t device, ino_t inode);

/* The same by the text of all its mappings, for kernels before 6.11. */
int proc_has_mapped_by_text(pid_t pid, dev_t device, ino_t inode);

/* ---- Ends ------------------------------------------------------------------------------------ */

/* How a process ended; works for processes that are not our children. Thread-safety: pure
 * functions. */

/* Opens a pidfd, which refers to this process even after its pid is reused, and is readable once it
 * has ended; the caller closes it. -errno; -EMFILE also if few further files could be opened. */
int proc_end_open(pid_t pid);

/* Wait status of a process that has ended: kept by the kernel (since Linux 6.15), or of a zombie.
 * 1; 0 if unknown (its parent may still report it). */
int proc_end_status(int fd, pid_t pid, int *ret_wait_status);

/* ---- Watches --------------------------------------------------------------------------------- */

/* Watches one process until it ends, and finds its exit status. Thread-safety: one thread per
 * object. */

struct process_watch {
    pid_t pid;  /* in our namespace; 0: ended before the watch began, or invisible */
    int pidfd;  /* below 0: not open; readable when the process has ended */
    bool ended; /* all its threads have ended */
};

/* Identity of a process as it sees itself. */
struct process_watched {
    pid_t pid;
    uint64_t pid_ns;      /* 0: ours */
    uint64_t start_ticks; /* 0: unknown */
};

/* Finds a process and begins to watch it. Never fails: a process that is not found counts as
 * ended. */
void process_watch_open(struct process_watch *watch, const struct process_watched *who);
void process_watch_close(struct process_watch *watch);

/* Returns true if it has ended. */
bool process_watch_poll(struct process_watch *watch);

/* Its wait status: 1; 0 if unknown (a zombie's parent may still report it, or the kernel is older
 * than 6.15). After its end only. */
int process_watch_status(const struct process_watch *watch, int *ret_wait_status);

#endif
