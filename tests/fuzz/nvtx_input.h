/* SPDX-License-Identifier: MIT */
/* Takes arguments of NVTX calls from bytes, as a careless program passes them. */
#ifndef ANNOT_FUZZ_NVTX_INPUT_H
#define ANNOT_FUZZ_NVTX_INPUT_H

#include "nvtx_calls.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct nvtx_input {
    const uint8_t *at, *end;
};

/* Returns 0 past the end. */
uint64_t nvtx_take(struct nvtx_input *input, unsigned bytes);

/* Keeps the results of calls for later calls. Sometimes takes another number. */
void nvtx_keep(uint64_t handle);
uint64_t nvtx_take_handle(struct nvtx_input *input);

/* Returns NULL, a huge text, or usually one that is not UTF-8. */
const char *nvtx_take_text(struct nvtx_input *input);
const wchar_t *nvtx_take_wide(struct nvtx_input *input);
nvtxMessageValue_t nvtx_take_message(struct nvtx_input *input, int32_t type);

/* A copy of the claimed length (at least `least` bytes), so that a sanitizer detects overreads. */
void *nvtx_shortened(const void *whole, size_t size, size_t said, size_t least);

/* Begins and ends recordings, one per fixed number of inputs. */
void nvtx_input_begin(void);
void nvtx_input_end(void);

#endif
