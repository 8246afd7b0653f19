/* SPDX-License-Identifier: MIT */
/* Makes a recording of a fuzzer's bytes. The first byte chooses how the rest becomes a file: 0 as
 * it is; 1 as a file whose checksums are made right first, so that lengths and payloads get past
 * them; 2 as a row of payloads (type, 16-bit length, bytes), each made into a right chunk, so that
 * the decoders see every byte. One thread. */
#ifndef ANNOT_TEST_RECORDING_INPUT_H
#define ANNOT_TEST_RECORDING_INPUT_H

#include <stddef.h>
#include <stdint.h>

enum { RECORDING_INPUT_PATH = 64 };

/* The descriptor of a file in memory, which the caller closes, and a path of it. -1: no input. */
int recording_input(const uint8_t *data, size_t size, char path[RECORDING_INPUT_PATH]);

#endif
