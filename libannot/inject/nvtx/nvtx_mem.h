/* SPDX-License-Identifier: MIT */
/* Extension MEM: heaps and regions of the program, as annot's marks and counters. Threads: any. */
#ifndef ANNOT_NVTX_MEM_H
#define ANNOT_NVTX_MEM_H

#include "nvtx_extension.h"

extern const struct nvtx_extension_calls nvtx_mem_calls;

#endif
