/* SPDX-License-Identifier: MIT */
/* Samples of the program counter of kernels, with stall reasons.
 *
 * gpu_pc_data_*() owns and reads the buffers that CUPTI fills, within their sizes (gpu_pc_data.c;
 * threads: one per object). The rest samples contexts of the program (gpu_pc.c; a lock). */
#ifndef ANNOT_GPU_PC_H
#define ANNOT_GPU_PC_H

#include "gpu_emit.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Buffers of CUPTI ---- */

enum { GPU_PC_REASONS = 128, GPU_PC_ROWS = 2048 };

/* Stall reasons of a context. */
struct gpu_pc_reasons {
    size_t count;
    uint32_t indexes[GPU_PC_REASONS];
    char names[GPU_PC_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
};

/* CUPTI's output: `rows` records of `stride` bytes, each with a place for all reasons. */
struct gpu_pc_data {
    CUpti_PCSamplingData head;
    uint8_t *records;
    CUpti_PCSamplingStallReason *stalls;
    size_t stride, rows, reasons;
};

/* 0 or -ENOMEM. fini accepts a zeroed object. */
int gpu_pc_data_init(struct gpu_pc_data *data, uint32_t version, size_t rows, size_t reasons);
void gpu_pc_data_fini(struct gpu_pc_data *data);

/* Prepares it for CUPTI. */
void gpu_pc_data_clear(struct gpu_pc_data *data);

/* Calls `take` for each record with at least one sample; reads only `data` and names of functions.
 * Returns the number of unreadable records. */
uint64_t gpu_pc_data_read(const struct gpu_pc_data *data, const struct gpu_pc_reasons *reasons,
                          void (*take)(void *context, const struct gpu_pc *pc), void *context);

/* ---- Contexts of the program ---- */

/* A launch begins on the calling thread: samples its context from now on. Cost: a few loads. */
void gpu_pc_met(CUcontext context);

/* The calling thread is about to destroy the context, or to unload a module of it. */
void gpu_pc_gone(CUcontext context);
void gpu_pc_unloads(CUcontext context);

/* True if samples are wanted and no obstacle is known. Any thread. */
bool gpu_pc_possible(void);

/* The thread of gpu_thread.c: reports the samples so far; shut also ends sampling, with the window.
 */
void gpu_pc_emit(void);
void gpu_pc_shut(void);

/* In a forked child. */
void gpu_pc_forget(void);

#endif
