/* SPDX-License-Identifier: MIT */
/* A small process of annot's own group that shows which signals the whole group got.
 *
 * A signal does not say whether it was sent to one process or to its group. Every signal to the
 * group waits in the witness, too, so a signal that the witness does not have was sent to annot
 * alone. While annot is stopped, the witness continues it once the command runs again or has
 * ended. It ends when annot does. Thread-safety: main thread only. */
#ifndef ANNOT_WITNESS_H
#define ANNOT_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct witness {
    pid_t pid; /* 0: there is no witness */
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

/* With all signals blocked and one thread. 0 or -errno. */
int witness_begin(struct witness *witness);

/* Reads at most `room` signals that it got and did not report yet; returns their number. Waits two
 * seconds for an answer; the signals of a later one come with the next call. Costs two switches
 * between processes. */
size_t witness_ask(struct witness *witness, struct signal_sent *sent, size_t room);

/* From now on, continues annot when the process `pid` is not stopped; 0: ends that. */
void witness_watch(const struct witness *witness, pid_t pid);

bool witness_is_stopped(pid_t pid);

void witness_end(struct witness *witness);

#endif
