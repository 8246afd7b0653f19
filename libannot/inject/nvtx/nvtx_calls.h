/* SPDX-License-Identifier: MIT */
/* Events of any domain, and the callbacks of NVTX's modules CORE, CORE2, CUDA, CUDART and OPENCL.
 *
 * Threads: any, also signal handlers. errno is kept. Outside of recordings, callbacks of events
 * cost a load and a test. */
#ifndef ANNOT_NVTX_CALLS_H
#define ANNOT_NVTX_CALLS_H

#include "nvtx.h"

#include <annot/annot.h>

/* Events of any domain: CORE is CORE2 with the default one. */
int nvtx_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
int nvtx_pop(nvtxDomainHandle_t domain);
nvtxRangeId_t nvtx_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
void nvtx_end(nvtxRangeId_t range);
void nvtx_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);

/* Pushes an event read from attributes, during a recording. */
int nvtx_push_event(const struct annot_event *event);

/* Callbacks that name objects of CUDA and OpenCL: X(module, call, type of the object, its kind).
 * Each has a variant for char (A) and one for wchar_t (W). */
#define NVTX_CUDA_NAMES(X)                                                                         \
    X(CUDA, NameCuDevice, int, INJECT_CU_DEVICE)                                                   \
    X(CUDA, NameCuContext, const void *, INJECT_CU_CONTEXT)                                        \
    X(CUDA, NameCuStream, const void *, INJECT_CU_STREAM)                                          \
    X(CUDA, NameCuEvent, const void *, INJECT_CU_EVENT)
#define NVTX_CUDART_NAMES(X)                                                                       \
    X(CUDART, NameCudaDevice, int, INJECT_CUDA_DEVICE)                                             \
    X(CUDART, NameCudaStream, const void *, INJECT_CUDA_STREAM)                                    \
    X(CUDART, NameCudaEvent, const void *, INJECT_CUDA_EVENT)
#define NVTX_OPENCL_NAMES(X)                                                                       \
    X(OPENCL, NameClDevice, const void *, INJECT_CL_DEVICE)                                        \
    X(OPENCL, NameClContext, const void *, INJECT_CL_CONTEXT)                                      \
    X(OPENCL, NameClCommandQueue, const void *, INJECT_CL_QUEUE)                                   \
    X(OPENCL, NameClMemObject, const void *, INJECT_CL_MEMORY)                                     \
    X(OPENCL, NameClSampler, const void *, INJECT_CL_SAMPLER)                                      \
    X(OPENCL, NameClProgram, const void *, INJECT_CL_PROGRAM)                                      \
    X(OPENCL, NameClEvent, const void *, INJECT_CL_EVENT)

/* Rows of a table of such callbacks, functions PREFIX_CALLA and PREFIX_CALLW. */
#define NVTX_NAME_ROWS(prefix, module, call)                                                       \
    [NVTX_CBID_##module##_##call##A] = NVTX_CALL(prefix##_##call##A),                              \
    [NVTX_CBID_##module##_##call##W] = NVTX_CALL(prefix##_##call##W),

#endif
