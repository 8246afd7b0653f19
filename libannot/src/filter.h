/* SPDX-License-Identifier: MIT */
/* The filter in a process: applied when it joins, and to each number that it makes later. The
 * collector does the rest, including every change of the rules.
 *
 * Threads: any. Async-signal-safe; callers block signals, so that no handler forks meanwhile.
 * Cost: while everything is wanted, loads. Else a new number opens and reads the session file. */
#ifndef ANNOT_FILTER_SRC_H
#define ANNOT_FILTER_SRC_H

#include "segment.h"

/* Fills the initial masks of a new segment of the session. Returns the first number that they don't
 * include. */
uint32_t filter_join(int directory_fd, struct session *session);

/* Once the collector can find the segment, and before events use it: reads the capture range of the
 * session, and rules that are newer than those of `sequence`. A change of the rules is complete
 * when all segments that can be found have them. */
void filter_check(int directory_fd, struct segment *segment, uint32_t sequence);

/* Adds numbers to the segment's masks that they don't include. They are in its table already. */
void filter_numbers(struct segment *segment);

#endif
