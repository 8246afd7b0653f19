/* SPDX-License-Identifier: MIT */
/* What is missing from a recording, in total: for the headers of report and info.
 *
 * Main thread only: prints. */
#ifndef ANNOT_LOSS_SUMS_H
#define ANNOT_LOSS_SUMS_H

#include "report.h"

/* "1,234 buffer full, 1 too many threads or tracks" and a newline. */
void loss_print(const uint64_t *lost);

#endif
