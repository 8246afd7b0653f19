/* SPDX-License-Identifier: MIT */
/* Types that NVTX's naming calls need, instead of CUDA's header. Only their kind matters. */
#ifndef ANNOT_STANDIN_CUDA_H
#define ANNOT_STANDIN_CUDA_H

typedef int CUdevice;
typedef struct cuda_context *CUcontext;
typedef struct cuda_stream *CUstream;
typedef struct cuda_event *CUevent;
typedef struct cuda_array *CUarray;
typedef CUarray cudaArray_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;

#endif
