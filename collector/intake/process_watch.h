/* SPDX-License-Identifier: MIT */
/* Watches one process until it ends, and finds out how. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_PROCESS_WATCH_H
#define ANNOT_INTAKE_PROCESS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
