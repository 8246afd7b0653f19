/* SPDX-License-Identifier: MIT */
/* Module SYNC: waits for the program's locks, and the times they are held, as ranges. Threads:
 * any. */
#ifndef ANNOT_NVTX_SYNC_H
#define ANNOT_NVTX_SYNC_H

#include "nvtx_api.h"

extern const NvtxFunctionPointer nvtx_sync_calls[NVTX_CBID_SYNC_SIZE];

#endif
