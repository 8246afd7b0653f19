/* SPDX-License-Identifier: MIT */
/* Arguments of calls of NVTX, taken from bytes: as a program without care makes them. */
#ifndef ANNOT_FUZZ_NVTX_INPUT_H
#define ANNOT_FUZZ_NVTX_INPUT_H

#include "nvtx_calls.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct nvtx_input {
    const uint8_t *at, *end;
};

/* 0 behind the end. */
uint64_t nvtx_take(struct nvtx_input *input, unsigned bytes);

/* What calls gave, for those that follow; sometimes another number. */
void nvtx_keep(uint64_t handle);
uint64_t nvtx_take_handle(struct nvtx_input *input);

/* NULL, huge, or mostly no UTF-8. */
const char *nvtx_take_text(struct nvtx_input *input);
const wchar_t *nvtx_take_wide(struct nvtx_input *input);
nvtxMessageValue_t nvtx_take_message(struct nvtx_input *input, int32_t type);

/* A copy as long as it says (at least `least` bytes), so that a sanitizer sees who reads more. */
void *nvtx_shortened(const void *whole, size_t size, size_t said, size_t least);

/* Begins and ends recordings, one for every so many inputs. */
void nvtx_input_begin(void);
void nvtx_input_end(void);

#endif
