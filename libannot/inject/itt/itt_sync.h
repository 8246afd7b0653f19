/* SPDX-License-Identifier: MIT */
/* ITT's synchronization objects: waits as ranges of the thread, releases as marks. Threads: any. */
#ifndef ANNOT_ITT_SYNC_H
#define ANNOT_ITT_SYNC_H

#include "itt_entry.h"

extern const struct itt_entry itt_entries_sync[];

#endif
