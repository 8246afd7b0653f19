/* SPDX-License-Identifier: MIT */
/* What the kernel calls the threads of a process that runs. Of one that ended its end tells it.
 * Thread-safety: none (the registry's). */
#ifndef ANNOT_THREAD_NAMES_H
#define ANNOT_THREAD_NAMES_H

#include "lives.h"

/* Tells the registry the names of those that have entries. `process`: its pid and start; ns_pid,
 * where it has a number of its own, says that its threads have them as well. */
void thread_names_tell(struct lives *lives, const struct lives_task *process, int64_t time_ns);

#endif
