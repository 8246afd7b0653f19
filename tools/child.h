/* SPDX-License-Identifier: MIT */
/* The command that `annot record` runs: found, started, and died of as if nobody stood between.
 *
 * It stays in the caller's process group with the caller's standard streams, so the terminal's
 * keys reach it. All signals that annot alone gets go on to it; annot stops with it where the
 * terminal's job control stopped it, and at no other stop. Thread-safety: main thread only. */
#ifndef ANNOT_CHILD_H
#define ANNOT_CHILD_H

#include "signals.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
    struct signals *signals;
    pid_t pid;
    bool ended, stopped;
    bool hidden; /* the terminal is annot's: it does not stop with the command */
    int wait_status;
    int64_t stop_asked_ns; /* by a signal of job control; 0: no */
    struct rlimit files_before;
};

/* Whether the command can be started: 0, -ENOENT, -EACCES, ... as execvp would find it. */
int child_check(const char *command);

/* Before anything that must be completed; `signals` have begun. */
void child_prepare(struct child *child, struct signals *signals);

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

typedef void child_ended(void *context, pid_t pid, int wait_status);

/* Does what a signal asks for: passes it on, stops annot with the command, or reaps; calls `ended`
 * for each child, own or adopted, that ended. */
void child_take_signal(struct child *child, const struct signal_sent *sent, child_ended *ended,
                       void *context);

/* The same for all signals that came. */
void child_take_signals(struct child *child, child_ended *ended, void *context);

/* What the command used and what it waited for, once it has ended; else zeros. Of the last one. */
struct rusage child_usage(void);

/* Ends this process as the command ended: the same signal without a second core file; returns the
 * status to exit with. */
int child_mimic(const struct child *child);

#endif
