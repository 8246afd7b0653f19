/* SPDX-License-Identifier: MIT */
/* The signals of a command that lasts: none but SIGKILL ends annot by itself.
 *
 * All signals are blocked and read from a descriptor; those that report a fault of annot's own
 * code still end it. The caller decides which of them end its work, and which go on to a command.
 * One user at a time. Thread-safety: main thread only; other threads block all signals. */
#ifndef ANNOT_SIGNALS_H
#define ANNOT_SIGNALS_H

#include "witness.h"

#include <signal.h>
#include <stdbool.h>

enum { SIGNALS_FAULTS = 4 };

struct signals {
    bool begun;
    int fd;       /* to poll: readable once signals_take returns one */
    int queue_fd; /* a signalfd */
    int fault_fd; /* SIGSEGV, SIGBUS, SIGILL, SIGFPE that other processes sent come separately */
    struct witness witness;
    struct signal_sent shared[WITNESS_SIGNALS_MAX]; /* the group got them, and annot not yet */
    size_t shared_count;
    int64_t shared_ns;
    struct signal_sent continued; /* what continued annot and is not taken yet; number 0: nothing */
    sigset_t mask_before;
    struct sigaction ended_before, faults_before[SIGNALS_FAULTS];
};

/* Blocks all signals. `command`: one will run, so a witness is started, and faults that others
 * send are taken; annot has one thread then. 0 or -errno. */
int signals_begin(struct signals *signals, bool command);

/* In a process forked of annot: signals are as they were before signals_begin. */
void signals_restore_in_child(const struct signals *signals);

/* The next signal, if one came; not those that annot caused itself. */
bool signals_take(struct signals *signals, struct signal_sent *ret_sent);

/* Does this signal ask a program to end? */
bool signals_is_end(int number);

/* Before the fork of a command: what the group got so far did not reach it, and is passed on. */
void signals_expect_command(struct signals *signals);

/* Sends it on to the process `pid`, or to its group where the terminal would have done so; not to
 * a process that got it with annot's group. */
void signals_pass(struct signals *signals, const struct signal_sent *sent, pid_t pid);

/* Stops annot as the signal `number` does by default, until it is continued: by whoever continues
 * it, or because the process `with` (0: none) was continued. True: the witness did, for `with`. */
bool signals_stop(struct signals *signals, int number, pid_t with);

/* Drops what still waits, and gives the signals back. Accepts a zeroed object. */
void signals_end(struct signals *signals);

#endif
