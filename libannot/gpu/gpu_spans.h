/* SPDX-License-Identifier: MIT */
/* Converts CUPTI's records to annot's spans, with names, key-values and origins. Threads: that of
 * gpu_thread.c; gpu_shapes_forget() from any. */
#ifndef ANNOT_GPU_SPANS_H
#define ANNOT_GPU_SPANS_H

#include "gpu_buffers.h"

/* Records the spans of a buffer. */
void gpu_spans_emit(const struct gpu_buffer *buffer);

/* Forgets names of kernels: CUPTI was finalized, which invalidates their addresses. */
void gpu_shapes_forget(void);

#endif
