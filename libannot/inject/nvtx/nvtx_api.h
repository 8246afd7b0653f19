/* SPDX-License-Identifier: MIT */
/* The tool side of NVTX 3: types, and the numbers of modules and callbacks. The calls for programs
 * and their definitions are excluded. */
#ifndef ANNOT_NVTX_API_H
#define ANNOT_NVTX_API_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>

#define NVTX_EXPORT __attribute__((visibility("default")))

#define NVTX_CALL(function) ((NvtxFunctionPointer)(function))

#endif
