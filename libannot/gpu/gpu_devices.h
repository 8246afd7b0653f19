/* SPDX-License-Identifier: MIT */
/* GPUs by CUPTI's number: limits, identity, occupancy of a kernel, and the text and properties that
 * annot records of each. Threads: that of gpu_thread.c; gpu_devices_begin() runs with the window's
 * lock. */
#ifndef ANNOT_GPU_DEVICES_H
#define ANNOT_GPU_DEVICES_H

#include "gpu_records.h"

#include <stddef.h>
#include <stdint.h>

/* Stores the limits and the identity from a device's first record. */
void gpu_device_met(const struct gpu_record *record);

/* Warps of this kernel that fit a multiprocessor at once, in percent of its limit; 0: unknown. */
double gpu_device_occupancy(uint32_t device, const struct gpu_shape *shape);

/* "GPU 0: NAME". */
void gpu_device_text(uint32_t device, char *text, size_t size);

/* A label of gpu_emit_label(): the text with PCI address and UUID; 0: both unknown. */
uint32_t gpu_device_label(uint32_t device);

/* Records the device's properties, once per window. */
void gpu_device_emit(uint32_t device);
/* Called when a window begins. */
void gpu_devices_begin(void);

#endif
