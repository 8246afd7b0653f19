/* SPDX-License-Identifier: MIT */
/* How a process ended, whoever its parent is. Thread-safety: pure functions. */
#ifndef ANNOT_PROC_END_H
#define ANNOT_PROC_END_H

#include <sys/types.h>

/* A descriptor that means this process whoever has its pid later, readable when it has ended: to
 * be closed by the caller. -errno; -EMFILE also if hardly any other file could be opened then. */
int proc_end_open(pid_t pid);

/* The wait status of a process that has ended: by the kernel's memory of it (from Linux 6.15 on),
 * or while it is a zombie. 1; 0 if it is not known (yet: its parent may still tell). */
int proc_end_status(int fd, pid_t pid, int *ret_wait_status);

#endif
