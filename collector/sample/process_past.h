/* SPDX-License-Identifier: MIT */
/* Who the processes are that ran before the recording began, as /proc tells: for those the kernel
 * sends no fork and no exec. Thread-safety: none (the roster's). */
#ifndef ANNOT_PROCESS_PAST_H
#define ANNOT_PROCESS_PAST_H

#include "roster.h"

/* Tells the roster its name and command line, and its parent if `parent` (a pid that is told
 * already) is not 0. A process that is gone by now is none. 0 or -ENOMEM. */
int process_past_tell(struct roster *roster, int32_t pid, int32_t parent);

#endif
