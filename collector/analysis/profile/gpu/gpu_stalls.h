/* SPDX-License-Identifier: MIT */
/* Stall reasons of GPU warps by kernel and place in it: sums over marks of QUEUE_ROLE_PC.
 *
 * Memory: 80 bytes a kernel and reason, up to GPU_STALLS_MAX; 64 a place in one of these, up to
 * GPU_STALL_PLACES_MAX; samples at further places are left out. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_GPU_STALLS_H
#define ANNOT_GPU_STALLS_H

#include "hash_map.h"
#include "pass.h"
#include "trace.h"
#include "vec.h"

enum {
    GPU_STALLS_MAX = 1 << 14,
    GPU_STALL_PLACES_MAX = 1 << 18,
    GPU_REASONS_MAX = 256,
    GPU_REASON_SIZE = 64,
};

/* A stall reason of a kernel; or the kernel as a whole. */
struct gpu_stall {
    uint32_t function; /* string, the compiler's name; 0: kernels beyond the limit */
    uint32_t reason;   /* index + 1; 0: the whole kernel */
    uint64_t samples;
    uint64_t not_issued; /* of these: no other warp of the scheduler issued either */
    uint64_t place_count;
    uint64_t top_pc, top_samples; /* place with most samples, in bytes from the kernel's start */
    uint64_t kernel_samples;      /* of the whole kernel; after finish */
};

struct gpu_stall_sums {
    uint64_t samples; /* with a place and a reason */
    uint64_t taken;   /* the device's own count, including all below */
    uint64_t dropped, others, full;
    uint64_t left_out; /* samples at places beyond the limit */
};

struct gpu_stalls {
    const struct trace *trace;
    VEC(struct gpu_stall) rows;
    struct wide_map row_index;   /* by function and reason: index */
    struct wide_map place_index; /* by row, code and place: samples */
    uint64_t place_count;
    struct map64 keys; /* by string + 1: meaning of a value's key */
    char reasons[GPU_REASONS_MAX][GPU_REASON_SIZE];
    uint32_t reason_count;
    struct gpu_stall_sums sums;
};

void gpu_stalls_fini(struct gpu_stalls *stalls);
/* Takes a mark. 0 or -ENOMEM. */
int gpu_stalls_take(struct gpu_stalls *stalls, const struct item *mark);
/* Sorts the rows: each kernel before its reasons, most samples first. */
void gpu_stalls_finish(struct gpu_stalls *stalls);
/* "long_scoreboard"; "": the whole kernel. */
const char *gpu_stalls_reason(const struct gpu_stalls *stalls, const struct gpu_stall *row);

#endif
