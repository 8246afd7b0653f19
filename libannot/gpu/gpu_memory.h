/* SPDX-License-Identifier: MIT */
/* Memory of devices: names and key-values of records that take, give back or move it, and the bytes
 * held per device and kind. Threads: that of gpu_thread.c; gpu_memory_begin() from any. */
#ifndef ANNOT_GPU_MEMORY_H
#define ANNOT_GPU_MEMORY_H

#include "gpu_records.h"
#include "gpu_tell.h"

#include <stdint.h>

/* The record's interned name; adds its key-values. Threads: one. */
uint32_t gpu_memory_name(const struct gpu_record *record, struct gpu_values *values);

/* CUPTI's kind of memory as a word; "": unknown. */
const char *gpu_memory_kind(uint32_t kind);

/* A window begins: held bytes are zero. Any thread. */
void gpu_memory_begin(void);

#endif
