/* SPDX-License-Identifier: MIT */
/* Contexts and streams: CUPTI's numbers, the program's handles, and the names that programs give by
 * NVTX. Threads: any; a lock, except for handles seen lately. */
#ifndef ANNOT_GPU_STREAMS_H
#define ANNOT_GPU_STREAMS_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

/* A launching call begins on the calling thread. Cost: a comparison for a stream seen lately. */
void gpu_stream_met(CUpti_CallbackId id, const CUpti_CallbackData *call);

/* The stream is about to be destroyed. */
void gpu_stream_gone(CUstream handle);

/* A context and the number of its default stream. */
void gpu_context_met(uint32_t context, uint32_t default_stream);

/* The stream's current name as text. */
void gpu_stream_text(uint32_t context, uint32_t number, char *text, size_t size);

/* In a forked child: frees the lock, as streams may be destroyed there, too. */
void gpu_streams_forget(void);

#endif
