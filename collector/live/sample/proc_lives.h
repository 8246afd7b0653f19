/* SPDX-License-Identifier: MIT */
/* Registers facts of /proc: the processes that ran before the recording began, of which the kernel
 * sends no fork and no exec, and the names of the threads of those that run (the end of a thread
 * brings its name). Thread-safety: as the registry. */
#ifndef ANNOT_PROC_LIVES_H
#define ANNOT_PROC_LIVES_H

#include "lives.h"

#include <stdint.h>

/* Registers its name and command line, and its parent if `parent` (a pid that is registered
 * already) is not 0. A process that is gone by now is none. 0 or -ENOMEM. */
int process_past_tell(struct lives *lives, int32_t pid, int32_t parent);

/* Registers the names of those that have entries. `process`: its pid and start; ns_pid,
 * where it has a number of its own, says that its threads have them as well. */
void thread_names_tell(struct lives *lives, const struct lives_task *process, int64_t time_ns);

#endif
