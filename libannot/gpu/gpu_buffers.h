/* SPDX-License-Identifier: MIT */
/* The buffers that CUPTI fills with activity records: a pool of fixed size.
 *
 * CUPTI calls requested and completed on any thread; they take no lock. One thread drains. */
#ifndef ANNOT_GPU_BUFFERS_H
#define ANNOT_GPU_BUFFERS_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_buffer {
    uint8_t *bytes;
    size_t valid;   /* bytes that hold records */
    size_t dropped; /* records that CUPTI had no room for */
};

/* Makes the pool; a second call has no effect. 0 or -ENOMEM. */
int gpu_buffers_open(void);

/* CUPTI's callbacks: any thread, no lock. */
void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                   size_t valid);

/* Calls `take` for each buffer completed since the last call, the oldest first; each is free again
 * once `take` returns. Threads: one. */
void gpu_buffers_drain(void (*take)(const struct gpu_buffer *buffer));

/* Counts records dropped since the last completed buffer. */
void gpu_buffers_count_dropped(void);

#endif
