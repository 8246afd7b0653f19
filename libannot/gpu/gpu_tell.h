/* SPDX-License-Identifier: MIT */
/* What libannot-gpu tells annot: the one place where the two meet (gpu_tell.c; tests have their
 * own). Threads: any, where nothing else is said. */
#ifndef ANNOT_GPU_TELL_H
#define ANNOT_GPU_TELL_H

#include <stddef.h>
#include <stdint.h>

/* Where and when something was caused; {0}: unknown. */
struct gpu_origin {
    uint64_t time; /* annot's */
    uint32_t thread;
};

enum gpu_kind {
    GPU_KERNEL = 1,
    GPU_COPY,
    GPU_SET,
    GPU_GRAPH,
    GPU_WAIT, /* of a thread, for the GPU */
    GPU_OVERHEAD,
    GPU_KIND_COUNT
};

struct gpu_span {
    uint32_t name; /* of gpu_tell_name() or gpu_tell_kernel() */
    uint32_t device, context, stream;
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; begin 0 or end before begin: counted, no span */
    struct gpu_origin origin;
    uint64_t bytes;  /* of copies and sets, else 0 */
    uint8_t kind;    /* enum gpu_kind */
    uint8_t answers; /* the first that is told of a launch that was counted */
    uint8_t sort;    /* of a copy: CUPTI's kind of it */
};

struct gpu_shape {
    const char *name;
    uint32_t grid[3], block[3], registers, shared_bytes;
};

enum gpu_count {
    GPU_COUNT_LAUNCHED, /* kernels, graphs, copies and sets; outlives the process */
    GPU_COUNT_DROPPED,  /* records that CUPTI had no room for */
    GPU_COUNT_ORPHANS,  /* activities whose launch is not known */
    GPU_COUNT_UNKNOWN,  /* records that could not be read */
    GPU_COUNTS
};

/* The calling thread, now. Cost: a time stamp. */
void gpu_tell_here(struct gpu_origin *ret_origin);
/* Nonzero while somebody records this process; 0 also where that is not known at this instant. */
int gpu_tell_is_on(void);
void gpu_tell_count(enum gpu_count which, uint64_t by);
/* The thread of gpu_thread.c alone: */
uint32_t gpu_tell_name(const char *text);
uint32_t gpu_tell_kernel(const struct gpu_shape *shape);
void gpu_tell_span(const struct gpu_span *span);
/* At the end of a window: what was counted that has no other place. */
void gpu_tell_counts(void);
/* A line for people: why nothing is recorded, or what is missing. */
void gpu_tell_note(const char *text);

#endif
