/* SPDX-License-Identifier: MIT */
/* What /proc tells of a thread: its state, the system call it waits in, its registers.
 * Any of it may be gone or denied. Thread-safety: pure functions. */
#ifndef ANNOT_LOOK_PROC_H
#define ANNOT_LOOK_PROC_H

#include "look.h"

#include <sys/types.h>

struct look_call {
    bool known;     /* it waits, and we may know where */
    int32_t number; /* -1: not in a system call */
    uint64_t arguments[6];
    uint64_t sp, pc;
    bool frame_known; /* rbp and rbx, too, which /proc does not tell */
    uint64_t rbp, rbx;
};

/* Fills pid-side facts of each thread. Returns the threads (free), *ret_count; NULL with errno. */
struct look_thread *look_proc_threads(pid_t pid, uint32_t *ret_count);

void look_proc_call(pid_t pid, int32_t tid, struct look_call *ret_call);

/* st_mode of a descriptor of the process, 0 = unknown. */
uint32_t look_proc_file_mode(pid_t pid, uint64_t descriptor);

#endif
