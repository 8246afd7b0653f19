/* SPDX-License-Identifier: MIT */
/* Callbacks of NVTX's modules CORE, CORE2, CUDA, CUDART and OPENCL, and events of any domain.
 *
 * Threads: any, also signal handlers. errno is kept. Outside of recordings, callbacks of events
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

/* Pushes an event read from attributes, during a recording. */
int nvtx_push_event(const struct annot_event *event);

/* Callbacks by id; id 0 is unused. */
extern const NvtxFunctionPointer nvtx_core_calls[NVTX_CBID_CORE_SIZE];
extern const NvtxFunctionPointer nvtx_core2_calls[NVTX_CBID_CORE2_SIZE];
extern const NvtxFunctionPointer nvtx_cuda_calls[NVTX_CBID_CUDA_SIZE];
extern const NvtxFunctionPointer nvtx_cudart_calls[NVTX_CBID_CUDART_SIZE];
extern const NvtxFunctionPointer nvtx_opencl_calls[NVTX_CBID_OPENCL_SIZE];

#endif
