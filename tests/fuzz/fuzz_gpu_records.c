/* SPDX-License-Identifier: MIT */
/* Buffers of CUPTI, and a CUPTI that steps through them arbitrarily: reads must stay inside.
 *
 * Byte 0: how it steps: 0 by the sizes of CUDA 13.0, else by the bytes at the end of the input. The
 * rest is the buffer, in an allocation of exactly its size, so that a sanitizer detects reads past
 * it. */
#include "gpu_records.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *steps;
static size_t step_count;
static uint64_t taken;

static size_t size_of(uint32_t kind)
{
    static const uint16_t sizes[64] = {
        [1] = 96,  [2] = 88,  [4] = 40,  [5] = 40,  [8] = 184,  [9] = 32,  [10] = 216, [17] = 56,
        [22] = 96, [25] = 64, [36] = 56, [38] = 56, [49] = 128, [51] = 56, [52] = 72};
    return kind < 64 ? sizes[kind] : 0;
}

static CUptiResult step_honestly(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    size_t at = 0;
    uint32_t kind;
    if (*record) {
        at = (size_t)((uint8_t *)*record - buffer);
        memcpy(&kind, buffer + at, sizeof(kind));
        if (size_of(kind) == 0)
            return CUPTI_ERROR_INVALID_KIND;
        at += size_of(kind);
    }
    if (at + sizeof(kind) > size)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(buffer + at);
    return CUPTI_SUCCESS;
}

/* May also step to before the buffer or far past it. */
static CUptiResult step_wildly(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    (void)size;
    if (step_count == 0)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    int8_t step = (int8_t)steps[--step_count];
    uintptr_t from = *record ? (uintptr_t)*record : (uintptr_t)buffer;
    *record = (CUpti_Activity *)(from + (uintptr_t)(intptr_t)(step == 1 ? 0 : step * 4));
    return CUPTI_SUCCESS;
}

static void take(void *context, const struct gpu_record *record)
{
    (void)context;
    if (record->kind < GPU_KERNEL || record->kind >= GPU_RECORD_KINDS)
        abort();
    taken++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *buffer = malloc(size);
    memcpy(buffer, data + 1, size - 1);
    steps = data + 1;
    step_count = size - 1;
    taken = 0;
    uint64_t unknown =
        gpu_records_read(data[0] ? step_wildly : step_honestly, buffer, size - 1, take, NULL);
    if (taken + unknown > size + 1)
        abort();
    free(buffer);
    return 0;
}
