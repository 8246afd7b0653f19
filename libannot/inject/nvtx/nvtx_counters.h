/* SPDX-License-Identifier: MIT */
/* Extension COUNTERS: counters of the program and their samples, as annot's counters. Threads: any.
 */
#ifndef ANNOT_NVTX_COUNTERS_H
#define ANNOT_NVTX_COUNTERS_H

#include "nvtx_extension.h"

extern const struct nvtx_extension_calls nvtx_counters_calls;

#endif
