/* SPDX-License-Identifier: MIT */
/* Tasks of ITT as nested ranges of a thread, and arrows between them. Threads: any. */
#ifndef ANNOT_ITT_TASKS_H
#define ANNOT_ITT_TASKS_H

#include "itt_entry.h"

extern const struct itt_entry itt_entries_tasks[];

#endif
