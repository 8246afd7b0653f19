/* SPDX-License-Identifier: MIT */
/* The filter as a process applies it: when it joins, and to each number that it makes later. All
 * else, and every change of the rules, is the collector's.
 *
 * Threads: any. Async-signal-safe; callers keep signals out, so that no handler forks meanwhile.
 * Cost: while everything is wanted, loads. Else a new number opens and reads the session file. */
#ifndef ANNOT_FILTER_SRC_H
#define ANNOT_FILTER_SRC_H

#include "segment.h"

/* Into the masks that a new segment of the session begins with. Returns the first number that they
 * don't know. */
uint32_t filter_join(int directory_fd, struct session *session);

/* When the collector can find the segment, and before events use it: the range inside of which it
 * records, and rules that are newer than those of `sequence`. A change of the rules is over when
 * all are told that can be found. */
void filter_check(int directory_fd, struct segment *segment, uint32_t sequence);

/* Brings numbers that the segment's masks don't know into them. They are in its table already. */
void filter_numbers(struct segment *segment);

#endif
