/* SPDX-License-Identifier: MIT */
/* Registers facts of /proc: the processes that ran before the recording began, for which the kernel
 * sends no fork and no exec, and the names of running threads (the end of a thread includes its
 * name). Thread-safety: as the registry. */
#ifndef ANNOT_PROC_LIVES_H
#define ANNOT_PROC_LIVES_H

#include "lives.h"

#include <stdint.h>

/* Registers its name and command line, and its parent if `parent` (a registered pid) is not 0.
 * Skips a process that has ended. 0 or -ENOMEM. */
int process_past_emit(struct lives *lives, int32_t pid, int32_t parent);

/* Registers the names of threads with entries. `process`: its pid and start; a different ns_pid
 * means that its threads have such numbers as well. */
void thread_names_emit(struct lives *lives, const struct lives_task *process, int64_t time_ns);

#endif
