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

/* Makes a table of one side: for each number of runs and ranges the mean with its interval, the
 * median, the minimum and the maximum. Owned by the caller (table_fini). 0 or -ENOMEM. */
int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table);

/* Writes "471 ms +- 12.1 ms, median 465 ms, least 452 ms" for a number of whole runs; "": no such
 * number. */
size_t compare_run_text(const struct compare *compare, enum compare_side side, const char *name,
                        char *buffer, size_t size);

#endif
