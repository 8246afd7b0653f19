/* SPDX-License-Identifier: MIT */
/* The signals of a long-running command: only SIGKILL ends annot by itself.
 *
 * All signals are blocked and read from a descriptor, except for faults of annot's own code, which
 * end it. The caller decides which signals end its work, and which are passed to a command. One
 * user at a time. Thread-safety: main thread only; other threads block all signals. */
#ifndef ANNOT_SIGNALS_H
#define ANNOT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A small process in annot's group that shows which signals were sent to the whole group.
 *
 * A signal does not carry whether it was sent to one process or to its group. Signals to the group
 * are also pending in the witness, so a signal that the witness lacks was sent to annot alone.
 * While annot is stopped, the witness continues it once the command runs again or has ended. It
 * ends with annot. */

struct witness {
    pid_t pid; /* 0: not running */
    int fd;
    uint32_t asked; /* number of the last request for signals */
};

/* One signal, as signalfd reports it. */
struct signal_sent {
    int number, code;
    pid_t sender;
    uint64_t value;
};

enum { WITNESS_SIGNALS_MAX = 64 };

enum { SIGNALS_FAULTS = 4 };

struct signals {
    bool begun;
    int fd;       /* for poll: readable if signals_take would return a signal */
    int queue_fd; /* a signalfd */
    int fault_fd; /* pipe with SIGSEGV, SIGBUS, SIGILL, SIGFPE sent by other processes */
    struct witness witness;
    struct signal_sent shared[WITNESS_SIGNALS_MAX]; /* received by the group, not yet by annot */
    size_t shared_count;
    int64_t shared_ns;
    struct signal_sent
        continued; /* the SIGCONT that continued annot and is not taken yet; number 0: unset */
    sigset_t mask_before;
    struct sigaction ended_before, faults_before[SIGNALS_FAULTS];
};

/* Blocks all signals. `command`: one will run, so the witness is started, and fault signals sent by
 * other processes are taken; annot must have one thread. 0 or -errno. */
int signals_begin(struct signals *signals, bool command);

/* Call in a forked child: restores the signals from before signals_begin. */
void signals_restore_in_child(const struct signals *signals);

/* Returns the next pending signal, except those that annot caused itself. */
bool signals_take(struct signals *signals, struct signal_sent *ret_sent);

/* Returns true for signals that ask a program to end. */
bool signals_is_end(int number);

/* Call before the fork of a command: signals that the group received before did not reach the
 * command, and are passed on. */
void signals_expect_command(struct signals *signals);

/* Passes a signal to the process `pid`, or to its group as the terminal would; skips a process that
 * received it with annot's group. */
void signals_pass(struct signals *signals, const struct signal_sent *sent, pid_t pid);

/* Stops annot as the signal `number` does by default, until SIGCONT arrives, or the witness
 * continues annot because the process `with` (0: unset) was continued. True: the witness did. */
bool signals_stop(struct signals *signals, int number, pid_t with);

/* Drops pending signals and restores the previous handling. Accepts a zeroed object. */
void signals_end(struct signals *signals);

#endif
