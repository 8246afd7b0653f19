/* SPDX-License-Identifier: MIT */
/* Data that CUPTI fills in for program counter samples: reads must stay inside. Byte 0: CUPTI's
 * version, before 12.4 or not. Bytes 1 to 8: the claimed number of records. Then its stall reasons,
 * and the records. Function names are CUPTI's memory, so they always exist. */
#include "gpu_pc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, REASONS = 3, NAME_AT = offsetof(CUpti_PCSamplingPCData, functionName) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t taken;

static void take(void *context, const struct gpu_pc *pc)
{
    (void)context;
    if (!pc->function || pc->count == 0 || pc->count > REASONS)
        abort();
    for (uint32_t i = 0; i < pc->count; i++)
        if (pc->stalls[i].samples == 0 || strlen(pc->stalls[i].reason) > 128)
            abort();
    taken++;
}

static size_t copy(void *to, size_t room, const uint8_t **from, size_t *left)
{
    size_t length = *left < room ? *left : room;
    memcpy(to, *from, length);
    *from += length;
    *left -= length;
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gpu_pc_reasons reasons = {
        .count = REASONS, .indexes = {0, 1, 2}, .names = {"selected", "barrier", "sleeping"}};
    static char name[] = "kernel";
    struct gpu_pc_data filled;
    if (size < 1 + sizeof(uint64_t))
        return 0;
    uint32_t version = data[0] % 2 ? 21 : 130000;
    const uint8_t *at = data + 1;
    size_t left = size - 1;
    if (gpu_pc_data_init(&filled, version, ROWS, REASONS) != 0)
        return 0;
    (void)copy(&filled.head.totalNumPcs, sizeof(uint64_t), &at, &left);
    (void)copy(filled.stalls, sizeof(*filled.stalls) * ROWS * REASONS, &at, &left);
    (void)copy(filled.records, filled.stride * ROWS, &at, &left);
    for (size_t i = 0; i < ROWS; i++) {
        char *function = data[1 + i % sizeof(uint64_t)] % 2 ? name : NULL;
        memcpy(filled.records + i * filled.stride + NAME_AT, &function, sizeof(function));
    }
    taken = 0;
    uint64_t wrong = gpu_pc_data_read(&filled, &reasons, take, NULL);
    if (taken + wrong > ROWS + 1)
        abort();
    gpu_pc_data_fini(&filled);
    return 0;
}
