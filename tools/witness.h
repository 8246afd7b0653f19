/* SPDX-License-Identifier: MIT */
/* A small process in annot's group that shows which signals were sent to the whole group.
 *
 * A signal does not carry whether it was sent to one process or to its group. Signals to the group
 * are also pending in the witness, so a signal that the witness lacks was sent to annot alone.
 * While annot is stopped, the witness continues it once the command runs again or has ended. It
 * ends with annot. Thread-safety: main thread only. */
#ifndef ANNOT_WITNESS_H
#define ANNOT_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Requires blocked signals and a single thread. 0 or -errno. */
int witness_begin(struct witness *witness);

/* Reads at most `room` signals that the witness received and did not report yet; returns their
 * number. Waits two seconds for an answer; a later answer is returned by the next call. Costs two
 * context switches. */
size_t witness_ask(struct witness *witness, struct signal_sent *sent, size_t room);

/* From now on, continues annot when the process `pid` is not stopped; 0: stops watching. */
void witness_watch(const struct witness *witness, pid_t pid);

bool witness_is_stopped(pid_t pid);

void witness_end(struct witness *witness);

#endif
