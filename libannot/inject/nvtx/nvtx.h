/* SPDX-License-Identifier: MIT */
/* The tool side of NVTX 3: types, the numbers of modules and callbacks, and the tables of ours. The
 * calls for programs and their definitions are excluded. */
#ifndef ANNOT_NVTX_H
#define ANNOT_NVTX_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>

#define NVTX_EXPORT __attribute__((visibility("default")))

#define NVTX_CALL(function) ((NvtxFunctionPointer)(function))

/* Callbacks of the modules, by id; id 0 is unused. Threads: any, also signal handlers. errno is
 * kept. Outside of recordings, callbacks of events cost a load and a test. */
extern const NvtxFunctionPointer nvtx_core_calls[NVTX_CBID_CORE_SIZE];
extern const NvtxFunctionPointer nvtx_core2_calls[NVTX_CBID_CORE2_SIZE];
extern const NvtxFunctionPointer nvtx_cuda_calls[NVTX_CBID_CUDA_SIZE];
extern const NvtxFunctionPointer nvtx_cudart_calls[NVTX_CBID_CUDART_SIZE];
extern const NvtxFunctionPointer nvtx_opencl_calls[NVTX_CBID_OPENCL_SIZE];
extern const NvtxFunctionPointer nvtx_sync_calls[NVTX_CBID_SYNC_SIZE];

/* Slots of the extensions. */
struct nvtx_extension_calls;
extern const struct nvtx_extension_calls nvtx_payload_calls, nvtx_counters_calls, nvtx_mem_calls;

#endif
