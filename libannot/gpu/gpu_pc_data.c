/* SPDX-License-Identifier: MIT */
/* CUPTI's samples of the program counter, read without trust: counts are bounded by our buffers,
 * and the arrays of stall reasons are ours, whatever the record points to.
 *
 * Names of functions are CUPTI's memory. It may share one among records, those of kernels too, so
 * it is never freed: as many stay as the program has kernels. Threads: one for an object. */
#include "gpu_pc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a record, as the library steps through them: CUDA 12.4 added a field. */
enum { STRIDE_BEFORE = 56, STRIDE = 64, LONGER_SINCE = 22 };

_Static_assert(offsetof(CUpti_PCSamplingPCData, stallReason) == STRIDE_BEFORE - sizeof(void *),
               "the field that was last before CUDA 12.4");

int gpu_pc_data_init(struct gpu_pc_data *data, uint32_t version, size_t rows, size_t reasons)
{
    *data = (struct gpu_pc_data){.stride = version < LONGER_SINCE ? STRIDE_BEFORE : STRIDE,
                                 .rows = rows,
                                 .reasons = reasons};
    data->records = calloc(rows, data->stride);
    data->stalls = calloc(rows * reasons + 1, sizeof(*data->stalls));
    if (!data->records || !data->stalls) {
        gpu_pc_data_fini(data);
        return -ENOMEM;
    }
    gpu_pc_data_clear(data);
    return 0;
}

void gpu_pc_data_fini(struct gpu_pc_data *data)
{
    free(data->records);
    free(data->stalls);
    *data = (struct gpu_pc_data){0};
}

void gpu_pc_data_clear(struct gpu_pc_data *data)
{
    data->head = (CUpti_PCSamplingData){
        .size = sizeof(data->head),
        .collectNumPcs = data->rows,
        .pPcData = (CUpti_PCSamplingPCData *)(void *)data->records,
    };
    memset(data->records, 0, data->rows * data->stride);
    memset(data->stalls, 0, data->rows * data->reasons * sizeof(*data->stalls));
    for (size_t i = 0; i < data->rows; i++) {
        CUpti_PCSamplingPCData record = {.size = data->stride,
                                         .stallReason = data->stalls + i * data->reasons};
        memcpy(data->records + i * data->stride, &record, STRIDE_BEFORE);
    }
}

static const char *name_of(const struct gpu_pc_reasons *reasons, uint32_t index)
{
    for (size_t i = 0; i < reasons->count && i < GPU_PC_REASONS; i++)
        if (reasons->indexes[i] == index)
            return reasons->names[i];
    return NULL;
}

/* Copies a record's stall reasons with samples. */
static uint32_t find_stalls(const struct gpu_pc_reasons *reasons,
                            const CUpti_PCSamplingStallReason *from, size_t count,
                            struct gpu_stall *to)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count && i < GPU_PC_REASONS; i++) {
        const char *name = name_of(reasons, from[i].pcSamplingStallReasonIndex);
        if (from[i].samples != 0)
            to[found++] = (struct gpu_stall){name ? name : "unknown", from[i].samples};
    }
    return found;
}

uint64_t gpu_pc_data_read(const struct gpu_pc_data *data, const struct gpu_pc_reasons *reasons,
                          void (*take)(void *context, const struct gpu_pc *pc), void *context)
{
    struct gpu_stall stalls[GPU_PC_REASONS];
    size_t claimed = data->head.totalNumPcs, count = claimed < data->rows ? claimed : data->rows;
    uint64_t wrong = claimed > count; /* counts once, whatever the excess */
    for (size_t i = 0; i < count; i++) {
        CUpti_PCSamplingPCData record = {0};
        memcpy(&record, data->records + i * data->stride, STRIDE_BEFORE);
        if (record.stallReasonCount > data->reasons) {
            wrong++;
            continue;
        }
        const struct gpu_pc pc = {
            .function = record.functionName ? record.functionName : "",
            .cubin = record.cubinCrc,
            .offset = record.pcOffset,
            .count = find_stalls(reasons, data->stalls + i * data->reasons, record.stallReasonCount,
                                 stalls),
            .stalls = stalls,
        };
        if (pc.count > 0)
            take(context, &pc);
    }
    return wrong;
}
