/* SPDX-License-Identifier: MIT */
/* Names of objects, for the next tool and for us: see nvtx_next.h. They carry no handle of NVTX. */
#include "nvtx_calls.h"
#include "nvtx_next.h"

#define BOTH(module, calls, id, value_type, character)                                             \
    static void next_##id(value_type value, const character *name)                                 \
    {                                                                                              \
        typedef void (*call)(value_type, const character *);                                       \
        ((call)nvtx_next_of(NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id))(value, name);     \
        ((call)(calls)[NVTX_CBID_##module##_##id])(value, name);                                   \
    }
#define BOTH_WIDTHS(module, calls, id, value_type)                                                 \
    BOTH(module, calls, id##A, value_type, char)                                                   \
    BOTH(module, calls, id##W, value_type, wchar_t)
#define ROWS(module, id)                                                                           \
    [NVTX_CBID_##module##_##id##A] = NVTX_CALL(next_##id##A),                                      \
    [NVTX_CBID_##module##_##id##W] = NVTX_CALL(next_##id##W)

BOTH_WIDTHS(CUDA, nvtx_cuda_calls, NameCuDevice, int)
BOTH_WIDTHS(CUDA, nvtx_cuda_calls, NameCuContext, void *)
BOTH_WIDTHS(CUDA, nvtx_cuda_calls, NameCuStream, void *)
BOTH_WIDTHS(CUDA, nvtx_cuda_calls, NameCuEvent, void *)
BOTH_WIDTHS(CUDART, nvtx_cudart_calls, NameCudaDevice, int)
BOTH_WIDTHS(CUDART, nvtx_cudart_calls, NameCudaStream, void *)
BOTH_WIDTHS(CUDART, nvtx_cudart_calls, NameCudaEvent, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClDevice, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClContext, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClCommandQueue, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClMemObject, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClSampler, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClProgram, void *)
BOTH_WIDTHS(OPENCL, nvtx_opencl_calls, NameClEvent, void *)

static const NvtxFunctionPointer cuda_calls[NVTX_CBID_CUDA_SIZE] = {
    ROWS(CUDA, NameCuDevice),
    ROWS(CUDA, NameCuContext),
    ROWS(CUDA, NameCuStream),
    ROWS(CUDA, NameCuEvent),
};

static const NvtxFunctionPointer cudart_calls[NVTX_CBID_CUDART_SIZE] = {
    ROWS(CUDART, NameCudaDevice),
    ROWS(CUDART, NameCudaStream),
    ROWS(CUDART, NameCudaEvent),
};

static const NvtxFunctionPointer opencl_calls[NVTX_CBID_OPENCL_SIZE] = {
    ROWS(OPENCL, NameClDevice),    ROWS(OPENCL, NameClContext), ROWS(OPENCL, NameClCommandQueue),
    ROWS(OPENCL, NameClMemObject), ROWS(OPENCL, NameClSampler), ROWS(OPENCL, NameClProgram),
    ROWS(OPENCL, NameClEvent),
};

NvtxFunctionPointer nvtx_next_name(uint32_t module, uint32_t id)
{
    if (module == NVTX_CB_MODULE_CUDA)
        return cuda_calls[id];
    if (module == NVTX_CB_MODULE_CUDART)
        return cudart_calls[id];
    return module == NVTX_CB_MODULE_OPENCL ? opencl_calls[id] : NULL;
}
