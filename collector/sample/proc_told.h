/* SPDX-License-Identifier: MIT */
/* What /proc says, told to the registry: who the processes are that ran before the recording began,
 * of which the kernel sends no fork and no exec, and what it calls the threads of those that run
 * (of one that ended its end tells it). Thread-safety: none (the registry's). */
#ifndef ANNOT_PROC_TOLD_H
#define ANNOT_PROC_TOLD_H

#include "lives.h"

/* Tells the registry its name and command line, and its parent if `parent` (a pid that is told
 * already) is not 0. A process that is gone by now is none. 0 or -ENOMEM. */
int process_past_tell(struct lives *lives, int32_t pid, int32_t parent);

/* Tells the registry the names of those that have entries. `process`: its pid and start; ns_pid,
 * where it has a number of its own, says that its threads have them as well. */
void thread_names_tell(struct lives *lives, const struct lives_task *process, int64_t time_ns);

#endif
