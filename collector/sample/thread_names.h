/* SPDX-License-Identifier: MIT */
/* What the kernel calls the threads of a process that runs. Of one that ended its end tells it.
 * Thread-safety: none (the roster's). */
#ifndef ANNOT_THREAD_NAMES_H
#define ANNOT_THREAD_NAMES_H

#include "roster.h"

/* Tells the roster the names of those that have entries. `process`: its pid and start; ns_pid,
 * where it has a number of its own, says that its threads have them as well. */
void thread_names_tell(struct roster *roster, const struct roster_task *process, int64_t time_ns);

#endif
