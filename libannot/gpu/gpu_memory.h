/* SPDX-License-Identifier: MIT */
/* Memory of devices: names and key-values of records of allocations, frees and moves, and the bytes
 * held per device and kind. Threads: that of gpu_thread.c; gpu_memory_begin() from any. */
#ifndef ANNOT_GPU_MEMORY_H
#define ANNOT_GPU_MEMORY_H

#include "gpu_emit.h"
#include "gpu_records.h"

#include <stdint.h>

/* Returns the record's interned name; adds its key-values. Threads: one. */
uint32_t gpu_memory_name(const struct gpu_record *record, struct gpu_values *values);

/* Returns CUPTI's kind of memory as a word; "": unknown. */
const char *gpu_memory_kind(uint32_t kind);

/* Called when a window begins: resets held bytes to zero. Any thread. */
void gpu_memory_begin(void);

#endif
