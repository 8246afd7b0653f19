/* SPDX-License-Identifier: MIT */
/* Columns of the statistics as numbers, and rows sorted by them. Thread-safety: pure functions. */
#ifndef ANNOT_RANGE_ORDER_H
#define ANNOT_RANGE_ORDER_H

#include "range_stats.h"

enum range_column {
    RANGE_COLUMN_PATH = 0, /* ascending; all others descending */
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_MIN,
    RANGE_COLUMN_MEAN,
    RANGE_COLUMN_P50,
    RANGE_COLUMN_P90,
    RANGE_COLUMN_P99,
    RANGE_COLUMN_MAX,
    RANGE_COLUMN_PROCESSES,
    RANGE_COLUMN_THREADS,
    RANGE_COLUMN_UNFINISHED,
    RANGE_COLUMN_LOST,
    RANGE_COLUMN_CPU,
    RANGE_COLUMN_CPU_SELF,
    RANGE_COLUMN_RUNNING,
    RANGE_COLUMN_RUNNABLE,
    RANGE_COLUMN_BLOCKED,
};

/* The value of a column in nanoseconds or as a count; 0 for RANGE_COLUMN_PATH. */
uint64_t range_stats_value(const struct range_stats *stats, uint32_t index,
                           enum range_column column);

/* The rows of one kind that have a count or samples, sorted; ties by path, then by owner; "(other)"
 * last. Owned by the caller (free). Returns their number, or -ENOMEM. */
int64_t range_stats_sort(const struct range_stats *stats, enum range_kind kind,
                         enum range_column column, uint32_t **ret_rows);

#endif
