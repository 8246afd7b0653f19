/* SPDX-License-Identifier: MIT */
/* Times of recordings matched by ranges of one name. Main thread only. */
#ifndef ANNOT_MERGE_MATCH_H
#define ANNOT_MERGE_MATCH_H

#include "store.h"
#include "volumes.h"

/* What to add to the times of the recording at `path`, so that its ranges of that name begin when
 * those of the first one do; and how far off that is at most. CMD_OK; or the message is out. */
int merge_match(const char *first_path, const char *path, const char *name,
                struct store_time_map *time);

#endif
