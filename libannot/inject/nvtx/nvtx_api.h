/* SPDX-License-Identifier: MIT */
/* NVTX 3 as a tool sees it: types, and the numbers of modules and callbacks. The calls that a
 * program makes are left out, and so are their definitions. */
#ifndef ANNOT_NVTX_API_H
#define ANNOT_NVTX_API_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>

#define NVTX_EXPORT __attribute__((visibility("default")))

#define NVTX_CALL(function) ((NvtxFunctionPointer)(function))

#endif
