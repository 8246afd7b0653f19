/* SPDX-License-Identifier: MIT */
/* Paths of ranges (model/stacks.h) as rows of the statistics, and samples by path. Thread-safety:
 * as the statistics. */
#ifndef ANNOT_RANGE_PATHS_H
#define ANNOT_RANGE_PATHS_H

#include "range_stats.h"

/* 0 or -ENOMEM. finish adds their time to the rows. */
int range_stats_take_sample(struct range_stats *stats, const struct sample *sample);
int range_stats_finish_samples(struct range_stats *stats);
void range_stats_free_samples(struct range_stats *stats);

/* After the pass: writes the rows of the ranges of a path, outermost first, at most RANGE_PATH_MAX;
 * by name, a row may repeat. `owner`: range_stats_owner of the thread. Returns their number;
 * UINT32_MAX: out of memory. */
enum { RANGE_PATH_MAX = 256 };

uint32_t range_stats_path_rows(struct range_stats *stats, uint32_t owner, uint32_t path,
                               uint32_t rows[RANGE_PATH_MAX]);

/* The owner of rows of a thread, by the grouping; or RANGE_NO_OWNER. */
uint32_t range_stats_owner(const struct range_stats *stats, uint32_t thread);

/* Returns true if `row` is in `rows`. */
static inline bool range_is_among(const uint32_t *rows, uint32_t count, uint32_t row)
{
    while (count > 0 && rows[count - 1] != row)
        count--;
    return count > 0;
}

#endif
