/* SPDX-License-Identifier: MIT */
/* Our callbacks, by module of NVTX, and what they share.
 *
 * Threads: any, also signal handlers. errno stays as it was. While nobody records, those of events
 * cost a load and a test. */
#ifndef ANNOT_NVTX_CALLS_H
#define ANNOT_NVTX_CALLS_H

#include "nvtx_api.h"

#include <annot/annot.h>

/* Events of any domain: CORE is CORE2 with the default one. */
int nvtx_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
int nvtx_pop(nvtxDomainHandle_t domain);
nvtxRangeId_t nvtx_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
void nvtx_end(nvtxRangeId_t range);
void nvtx_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);

/* What was read of an event, while somebody records. */
int nvtx_push_event(const struct annot_event *event);

/* By the system's number, or a pthread_t that was cut to 32 bits and is the caller's. */
void nvtx_name_thread(uint32_t thread, const char *name);

/* Callbacks by id; those of id 0 are none. */
struct nvtx_module {
    NvtxCallbackModule id;
    unsigned count;
    const NvtxFunctionPointer *calls;
};

extern const NvtxFunctionPointer nvtx_core_calls[NVTX_CBID_CORE_SIZE];
extern const NvtxFunctionPointer nvtx_core2_calls[NVTX_CBID_CORE2_SIZE];
extern const NvtxFunctionPointer nvtx_sync_calls[NVTX_CBID_SYNC_SIZE];
extern const NvtxFunctionPointer nvtx_cuda_calls[NVTX_CBID_CUDA_SIZE];
extern const NvtxFunctionPointer nvtx_cudart_calls[NVTX_CBID_CUDART_SIZE];
extern const NvtxFunctionPointer nvtx_opencl_calls[NVTX_CBID_OPENCL_SIZE];

#define NVTX_CALL(function) ((NvtxFunctionPointer)(function))

#endif
