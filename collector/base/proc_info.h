/* SPDX-License-Identifier: MIT */
/* What the kernel tells about other processes: their state, their mappings, when and how
 * they ended. */
#ifndef ANNOT_PROC_INFO_H
#define ANNOT_PROC_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Processes ------------------------------------------------------------------------------- */

/* What the kernel tells about other processes.
 *
 * Pids are those of the collector's namespace. A process may end at any time: every answer may be
 * "gone" (-ESRCH or 0). Thread-safety: pure functions. */

struct proc_stat {
    char state; /* 'Z': ended, not yet reaped */
    pid_t ppid;
    int thread_count;     /* of a zombie: more than 1 if only its first thread has ended */
    uint64_t start_ticks; /* since the machine's boot */
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
/* The reverse, for a thread of the process. Cost, in another namespace: the status of each of its
 * threads. 0 = gone. */
pid_t proc_tid_outside(pid_t pid, pid_t ns_tid);

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

/* ---- Mappings -------------------------------------------------------------------------------- */

/* /proc/PID/maps. Paths in them are foreign: anything up to the end of the line, with
 * newlines escaped as \012 by the kernel. Thread-safety: pure. */

struct maps_line {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    bool executable;
    const char *path; /* inside the line; "" = none */
};

/* `line` ends with NUL; a newline at its end is cut off. false: not such a line. */
bool maps_line_parse(char *line, struct maps_line *ret_line);

/* Calls `take` for each mapping of a process (0: ourselves) until that returns something else than
 * 0, and returns that; or 0, -ESRCH, -errno. A process that ends meanwhile may tell fewer. */
typedef int maps_take(void *context, const struct maps_line *line);
int maps_each(int32_t pid, maps_take *take, void *context);

/* ---- Who has mapped a file ------------------------------------------------------------------- */

/* Whether a process shares a file by a mapping: asked of every process when a directory is given
 * up, so it must be cheap. Thread-safety: pure. */

/* 1, 0, or -errno if we may not look. */
int proc_has_mapped(pid_t pid, dev_t device, ino_t inode);

/* The same by the text of all its mappings, as kernels before 6.11 have it. */
int proc_has_mapped_by_text(pid_t pid, dev_t device, ino_t inode);

/* ---- Ends ------------------------------------------------------------------------------------ */

/* How a process ended, whoever its parent is. Thread-safety: pure functions. */

/* A descriptor that means this process whoever has its pid later, readable when it has ended: to
 * be closed by the caller. -errno; -EMFILE also if hardly any other file could be opened then. */
int proc_end_open(pid_t pid);

/* The wait status of a process that has ended: by the kernel's memory of it (from Linux 6.15 on),
 * or while it is a zombie. 1; 0 if it is not known (yet: its parent may still tell). */
int proc_end_status(int fd, pid_t pid, int *ret_wait_status);

/* ---- Watches --------------------------------------------------------------------------------- */

/* Watches one process until it ends, and finds out how. Thread-safety: one thread per object. */

struct process_watch {
    pid_t pid;  /* in our namespace; 0: gone before it could be watched, or out of sight */
    int pidfd;  /* below 0: none; readable when the process has ended */
    bool ended; /* all its threads are gone */
};

/* A process as it names itself. */
struct process_watched {
    pid_t pid;
    uint64_t pid_ns;      /* 0: ours */
    uint64_t start_ticks; /* 0: not known */
};

/* Finds a process and begins to watch it. Never fails: what cannot be found has ended. */
void process_watch_open(struct process_watch *watch, const struct process_watched *who);
void process_watch_close(struct process_watch *watch);

/* Whether it has ended by now. */
bool process_watch_poll(struct process_watch *watch);

/* Its wait status: 1; 0 if it is not known (yet: a zombie's parent may still tell, or the kernel
 * is older than 6.15). After its end only. */
int process_watch_status(const struct process_watch *watch, int *ret_wait_status);

#endif
