/* SPDX-License-Identifier: MIT */
/* ITT's overlapped tasks, regions, frames and events as ranges of the process, and its marks.
 * Threads: any. */
#ifndef ANNOT_ITT_SPANS_H
#define ANNOT_ITT_SPANS_H

#include "itt_entry.h"

extern const struct itt_entry itt_entries_spans[];

#endif
