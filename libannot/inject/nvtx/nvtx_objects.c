/* SPDX-License-Identifier: MIT */
/* The callbacks of modules CUDA, CUDART and OPENCL: names of devices, contexts, streams, events and
 * what else these have. They are kept by what identifies the object (inject_objects.h). */
#include "inject_objects.h"
#include "nvtx_calls.h"
#include "nvtx_thread.h"

/* By pointer, as all but devices are identified. */
#define NAMES_POINTER(function, object)                                                            \
    static void function##_a(const void *value, const char *name)                                  \
    {                                                                                              \
        inject_object_name(object, (uintptr_t)value, name);                                        \
    }                                                                                              \
    static void function##_w(const void *value, const wchar_t *name)                               \
    {                                                                                              \
        inject_object_name(object, (uintptr_t)value, nvtx_thread_text(name));                      \
    }

#define NAMES_NUMBER(function, object)                                                             \
    static void function##_a(int value, const char *name)                                          \
    {                                                                                              \
        inject_object_name(object, (uint32_t)value, name);                                         \
    }                                                                                              \
    static void function##_w(int value, const wchar_t *name)                                       \
    {                                                                                              \
        inject_object_name(object, (uint32_t)value, nvtx_thread_text(name));                       \
    }

NAMES_NUMBER(cu_device, INJECT_CU_DEVICE)
NAMES_POINTER(cu_context, INJECT_CU_CONTEXT)
NAMES_POINTER(cu_stream, INJECT_CU_STREAM)
NAMES_POINTER(cu_event, INJECT_CU_EVENT)
NAMES_NUMBER(cuda_device, INJECT_CUDA_DEVICE)
NAMES_POINTER(cuda_stream, INJECT_CUDA_STREAM)
NAMES_POINTER(cuda_event, INJECT_CUDA_EVENT)
NAMES_POINTER(cl_device, INJECT_CL_DEVICE)
NAMES_POINTER(cl_context, INJECT_CL_CONTEXT)
NAMES_POINTER(cl_queue, INJECT_CL_QUEUE)
NAMES_POINTER(cl_memory, INJECT_CL_MEMORY)
NAMES_POINTER(cl_sampler, INJECT_CL_SAMPLER)
NAMES_POINTER(cl_program, INJECT_CL_PROGRAM)
NAMES_POINTER(cl_event, INJECT_CL_EVENT)

const NvtxFunctionPointer nvtx_cuda_calls[NVTX_CBID_CUDA_SIZE] = {
    [NVTX_CBID_CUDA_NameCuDeviceA] = NVTX_CALL(cu_device_a),
    [NVTX_CBID_CUDA_NameCuDeviceW] = NVTX_CALL(cu_device_w),
    [NVTX_CBID_CUDA_NameCuContextA] = NVTX_CALL(cu_context_a),
    [NVTX_CBID_CUDA_NameCuContextW] = NVTX_CALL(cu_context_w),
    [NVTX_CBID_CUDA_NameCuStreamA] = NVTX_CALL(cu_stream_a),
    [NVTX_CBID_CUDA_NameCuStreamW] = NVTX_CALL(cu_stream_w),
    [NVTX_CBID_CUDA_NameCuEventA] = NVTX_CALL(cu_event_a),
    [NVTX_CBID_CUDA_NameCuEventW] = NVTX_CALL(cu_event_w),
};

const NvtxFunctionPointer nvtx_cudart_calls[NVTX_CBID_CUDART_SIZE] = {
    [NVTX_CBID_CUDART_NameCudaDeviceA] = NVTX_CALL(cuda_device_a),
    [NVTX_CBID_CUDART_NameCudaDeviceW] = NVTX_CALL(cuda_device_w),
    [NVTX_CBID_CUDART_NameCudaStreamA] = NVTX_CALL(cuda_stream_a),
    [NVTX_CBID_CUDART_NameCudaStreamW] = NVTX_CALL(cuda_stream_w),
    [NVTX_CBID_CUDART_NameCudaEventA] = NVTX_CALL(cuda_event_a),
    [NVTX_CBID_CUDART_NameCudaEventW] = NVTX_CALL(cuda_event_w),
};

const NvtxFunctionPointer nvtx_opencl_calls[NVTX_CBID_OPENCL_SIZE] = {
    [NVTX_CBID_OPENCL_NameClDeviceA] = NVTX_CALL(cl_device_a),
    [NVTX_CBID_OPENCL_NameClDeviceW] = NVTX_CALL(cl_device_w),
    [NVTX_CBID_OPENCL_NameClContextA] = NVTX_CALL(cl_context_a),
    [NVTX_CBID_OPENCL_NameClContextW] = NVTX_CALL(cl_context_w),
    [NVTX_CBID_OPENCL_NameClCommandQueueA] = NVTX_CALL(cl_queue_a),
    [NVTX_CBID_OPENCL_NameClCommandQueueW] = NVTX_CALL(cl_queue_w),
    [NVTX_CBID_OPENCL_NameClMemObjectA] = NVTX_CALL(cl_memory_a),
    [NVTX_CBID_OPENCL_NameClMemObjectW] = NVTX_CALL(cl_memory_w),
    [NVTX_CBID_OPENCL_NameClSamplerA] = NVTX_CALL(cl_sampler_a),
    [NVTX_CBID_OPENCL_NameClSamplerW] = NVTX_CALL(cl_sampler_w),
    [NVTX_CBID_OPENCL_NameClProgramA] = NVTX_CALL(cl_program_a),
    [NVTX_CBID_OPENCL_NameClProgramW] = NVTX_CALL(cl_program_w),
    [NVTX_CBID_OPENCL_NameClEventA] = NVTX_CALL(cl_event_a),
    [NVTX_CBID_OPENCL_NameClEventW] = NVTX_CALL(cl_event_w),
};
