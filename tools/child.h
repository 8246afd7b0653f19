/* SPDX-License-Identifier: MIT */
/* The command that `annot record` runs: looked up, started and ended as it would be without annot.
 *
 * It stays in the caller's process group and keeps its standard streams, so it receives the
 * terminal's keys. Signals sent only to annot are passed on; annot stops with the command if the
 * terminal's job control stopped it, and at no other stop. Thread-safety: main thread only. */
#ifndef ANNOT_CHILD_H
#define ANNOT_CHILD_H

#include "signals.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
    struct signals *signals;
    pid_t pid;
    bool ended, stopped;
    bool hidden; /* annot uses the terminal: it does not stop with the command */
    int wait_status;
    int64_t stop_asked_ns; /* time of a job-control signal; 0: unset */
    struct rlimit files_before;
};

/* Checks that the command can be started: 0, -ENOENT, -EACCES, ... as from execvp. */
int child_check(const char *command);
/* The same; also the path of its file. */
int child_find(const char *command, char path[PATH_MAX]);

/* Call before acquiring resources that need an orderly end, and after signals_begin. */
void child_prepare(struct child *child, struct signals *signals);

/* A variable for the command's environment. */
struct child_variable {
    const char *name, *value;
};

struct child_command {
    char **argv;
    const struct child_variable *variables;
    size_t variable_count;
    /* Called after the fork and before the command's exec; may be NULL. */
    void (*forked)(void *context, pid_t pid);
    void *context;
};

/* Starts the command. 0, or -errno of the exec. */
int child_start(struct child *child, const struct child_command *command);

/* Raises this process above busy workers in the scheduler, if permitted: it needs little time, but
 * soon. The command, started earlier, keeps its priority. */
void child_hurry(void);

typedef void child_ended(void *context, pid_t pid, int wait_status);

/* Handles a signal: passes it on, stops annot with the command, or reaps children; calls `ended`
 * for each ended child, including adopted ones. */
void child_take_signal(struct child *child, const struct signal_sent *sent, child_ended *ended,
                       void *context);

/* Handles all pending signals in the same way. */
void child_take_signals(struct child *child, child_ended *ended, void *context);

/* Resource use of the last command and of the children it waited for, once it has ended; zeros
 * before. */
struct rusage child_usage(void);

/* Ends this process as the command ended: by the same signal, without a second core file; else
 * returns the exit status. */
int child_mimic(const struct child *child);

#endif
