/* SPDX-License-Identifier: MIT */
/* Matches the times of recordings by ranges of one name. Main thread only. */
#ifndef ANNOT_MERGE_MATCH_H
#define ANNOT_MERGE_MATCH_H

#include "store.h"
#include "volumes.h"

/* Computes the offset to add to the times of the recording at `path`, so that its ranges of that
 * name begin with those of the first recording, and its largest error. CMD_OK, or the exit status
 * after a printed message. */
int merge_match(const char *first_path, const char *path, const char *name,
                struct store_time_map *time);

#endif
