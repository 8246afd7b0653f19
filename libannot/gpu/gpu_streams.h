/* SPDX-License-Identifier: MIT */
/* Contexts and streams: CUPTI's numbers, the program's handles, and the names that programs give
 * with NVTX. Threads: any; a lock, except for recently used handles. */
#ifndef ANNOT_GPU_STREAMS_H
#define ANNOT_GPU_STREAMS_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

/* Registers a launching call's stream, on its thread. Cost: a comparison for a recent stream. */
void gpu_stream_met(CUpti_CallbackId id, const CUpti_CallbackData *call);

/* Called before the stream is destroyed. */
void gpu_stream_gone(CUstream handle);

/* Registers a context and the number of its default stream. */
void gpu_context_met(uint32_t context, uint32_t default_stream);

/* Writes the stream's current name as text. */
void gpu_stream_text(uint32_t context, uint32_t number, char *text, size_t size);

/* In a forked child: frees the lock, as streams may be destroyed there, too. */
void gpu_streams_forget(void);

#endif
