/* SPDX-License-Identifier: MIT */
/* Who the processes are that ran before the recording began, as /proc tells: for those the kernel
 * sends no fork and no exec. Thread-safety: none (the registry's). */
#ifndef ANNOT_PROCESS_PAST_H
#define ANNOT_PROCESS_PAST_H

#include "lives.h"

/* Tells the registry its name and command line, and its parent if `parent` (a pid that is told
 * already) is not 0. A process that is gone by now is none. 0 or -ENOMEM. */
int process_past_tell(struct lives *lives, int32_t pid, int32_t parent);

#endif
