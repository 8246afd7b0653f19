/* SPDX-License-Identifier: MIT */
/* Makes a recording from a fuzzer's bytes. The first byte chooses how the rest becomes a file: 0
 * unchanged. 1 as a file with corrected checksums, so that lengths and payloads get past them. 2 as
 * a sequence of payloads (type, 16-bit length, bytes), each put into a valid chunk, so that the
 * decoders see every byte. One thread. */
#ifndef ANNOT_TEST_RECORDING_INPUT_H
#define ANNOT_TEST_RECORDING_INPUT_H

#include <stddef.h>
#include <stdint.h>

enum { RECORDING_INPUT_PATH = 64 };

/* Returns the descriptor of a file in memory, which the caller closes, and its path. -1: no
 * input. */
int recording_input(const uint8_t *data, size_t size, char path[RECORDING_INPUT_PATH]);

#endif
