/* SPDX-License-Identifier: MIT */
/* One path of ranges from two: what was read from a thread's live stack, and what its events tell.
 * Each returns a path of the table, or -ENOMEM. Thread-safety: none. */
#ifndef ANNOT_SAMPLE_PATH_H
#define ANNOT_SAMPLE_PATH_H

#include "stacks.h"

#include <stdbool.h>
#include <stdint.h>

/* Both agree (path_points.h): the thread's ranges are those of `told`, with their domains; ranges
 * of tracks stay where they were read, and what was inherited goes if there is anything else. */
int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told);

/* Events may be missing: of the thread's ranges that were read, those that are no part of `told`
 * become RANGE_PATH_UNRECORDED. `cut`: the outermost are missing in `read`. */
int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut);

/* All of it RANGE_PATH_INHERITED. */
int64_t sample_path_inherited(struct stacks *stacks, uint32_t path);

/* Whether it is. */
bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path);

/* Whether both have the same names. */
bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b);

#endif
