/* SPDX-License-Identifier: MIT */
/* One side by itself: means with their intervals. Thread-safety: one thread
 * per object. */
#ifndef ANNOT_COMPARE_MEANS_H
#define ANNOT_COMPARE_MEANS_H

#include "compare.h"
#include "table.h"

#include <stddef.h>
#include <stdint.h>

struct compare;

/* A table of one side: of each number of runs and ranges the mean with its interval, the median,
 * the least and the most. The caller's (table_fini). 0 or -ENOMEM. */
int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table);

/* "471 ms +- 12.1 ms, median 465 ms, least 452 ms" of a number of whole runs; "": it has none. */
size_t compare_run_text(const struct compare *compare, enum compare_side side, const char *name,
                        char *buffer, size_t size);

#endif
