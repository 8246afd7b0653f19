/* SPDX-License-Identifier: MIT */
/* Registers facts of /proc: the processes that ran before the recording began, for which the kernel
 * sends no fork and no exec, and the names of running threads (the end of a thread includes its
 * name). Thread-safety: as the registry. */
#ifndef ANNOT_LIVES_PROC_H
#define ANNOT_LIVES_PROC_H

#include "lives.h"
#include "proc_info.h"
#include "text.h"

#include <stdint.h>

/* A process's state and command line, of one program. */
struct process_look {
    struct proc_stat stat;
    char command[COMMAND_TEXT_SIZE];
};

/* 0, -ESRCH, or -errno if it cannot be read at present. */
int process_look(int32_t pid, struct process_look *ret_look);

/* Registers its name and command line, and its parent if `parent` (a registered pid) is not 0.
 * `earlier`: a look before its execs began to be reported. Skips a process that has ended. 0 or
 * -ENOMEM. */
int process_past_emit(struct lives *lives, int32_t pid, int32_t parent,
                      const struct process_look *earlier);

/* Registers the names of threads with entries. `process`: its pid and start; a different ns_pid
 * means that its threads have such numbers as well. */
void thread_names_emit(struct lives *lives, const struct lives_task *process, int64_t time_ns);

#endif
