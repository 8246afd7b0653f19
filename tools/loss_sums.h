/* SPDX-License-Identifier: MIT */
/* What is missing from a recording, in total: for the headers of report and info.
 *
 * Main thread only: prints. */
#ifndef ANNOT_LOSS_SUMS_H
#define ANNOT_LOSS_SUMS_H

#include "store.h"

/* Per cause the larger of what processes counted and what the gaps among the events say: in a
 * damaged recording only the gaps know, without final definitions as well. `gaps` has LOSS_COUNT
 * numbers; so has ret_lost. Returns the sum. */
uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost);

/* "1,234 buffer full, 1 too many threads or tracks" and a newline. */
void loss_print(const uint64_t *lost);

/* Records that the definitions promise and a damaged recording no longer has. `seen`: events read,
 * without gaps. 0 for a recording without damage. */
uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace,
                        uint64_t seen);

#endif
