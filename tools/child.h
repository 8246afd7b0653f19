/* SPDX-License-Identifier: MIT */
/* The command that `annot record` runs: found, started, and died of as if nobody stood between.
 *
 * It stays in the caller's process group with the caller's standard streams, so the terminal's
 * keys reach it. While it runs, the caller ignores SIGINT and SIGQUIT and reads SIGCHLD, SIGTERM
 * and SIGHUP from a descriptor. Thread-safety: main thread only. */
#ifndef ANNOT_CHILD_H
#define ANNOT_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int signal_fd;
    bool ended;
    int wait_status;
    sigset_t mask_before;
    struct sigaction interrupt_before, quit_before, background_before, ended_before;
    struct rlimit files_before;
};

/* Whether the command can be started: 0, -ENOENT, -EACCES, ... as execvp would find it. */
int child_check(const char *command);

/* Takes over the signals; before anything that must be completed. 0 or -errno. */
int child_prepare(struct child *child);

/* A variable for the command's environment. */
struct child_variable {
    const char *name, *value;
};

struct child_command {
    char **argv;
    const struct child_variable *variables;
    size_t variable_count;
    /* Told once the process is there and before it executes anything of its own; may be NULL. */
    void (*forked)(void *context, pid_t pid);
    void *context;
};

/* Starts the command. 0, or -errno of the exec. */
int child_start(struct child *child, const struct child_command *command);

/* Where it may, lets this process run before busy workers: it needs little time, but soon. The
 * command, which was started before, is not concerned. */
void child_hurry(void);

/* Passes a termination on and reaps; calls back for each child, own or adopted, that ended.
 * Stops this process, too, when the command was stopped. */
void child_handle_signals(struct child *child,
                          void (*ended)(void *context, pid_t pid, int wait_status), void *context);

/* Gives the signals back. */
void child_restore(struct child *child);

/* Ends this process as the command ended: the same signal without a second core file; returns the
 * status to exit with. */
int child_mimic(const struct child *child);

#endif
