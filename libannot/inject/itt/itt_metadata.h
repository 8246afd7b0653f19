/* SPDX-License-Identifier: MIT */
/* ITT's metadata: key-values of open ranges, recorded at their end. Threads: any. */
#ifndef ANNOT_ITT_METADATA_H
#define ANNOT_ITT_METADATA_H

#include "itt_entry.h"

extern const struct itt_entry itt_entries_metadata[];

#endif
