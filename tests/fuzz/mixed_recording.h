/* SPDX-License-Identifier: MIT */
/* Makes a valid recording from a fuzzer's bytes that mixes all kinds of items: pushed, overlapping
 * and track ranges of every observer, calls, lines, counters, flows, marks, CPU samples, waits,
 * spans of GPU queues, losses, edges, ends without a begin and begins without an end. One thread.
 *
 * Each item has MIXED_ITEM_BYTES bytes: kind, thread, name, scope, time step, id, value, flags.
 * Most pops match the open ranges of their thread. */
#ifndef ANNOT_TEST_MIXED_RECORDING_H
#define ANNOT_TEST_MIXED_RECORDING_H

#include <stddef.h>
#include <stdint.h>

enum { MIXED_ITEM_BYTES = 8, MIXED_NAMES = 12, MIXED_PROCESSES = 3, MIXED_THREADS = 5 };

/* Names of ranges, marks, counters and functions; pids and tids. */
extern const char *const mixed_names[MIXED_NAMES];
extern const int32_t mixed_pids[MIXED_PROCESSES], mixed_tids[MIXED_THREADS];

/* Replaces the file `path`. Aborts if it cannot be written. */
void mixed_recording(const uint8_t *bytes, size_t size, const char *path);

#endif
