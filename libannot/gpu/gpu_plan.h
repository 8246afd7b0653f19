/* SPDX-License-Identifier: MIT */
/* The plan of GPU recording: parses --gpu-window, and decides at each range if recording is wanted.
 *
 * Compiled into the command, which validates the words, and into libannot-gpu, which follows them.
 * It allocates no memory and reads no clock. Threads: one at a time. */
#ifndef ANNOT_GPU_PLAN_H
#define ANNOT_GPU_PLAN_H

#include <stdint.h>

enum { GPU_PLAN_NAME = 256 };

/* One sample of the program counter in 2^N cycles. */
enum { GPU_PC_PERIOD_MIN = 5, GPU_PC_PERIOD_MAX = 31 };

enum gpu_plan_kind {
    GPU_PLAN_ALL,      /* always */
    GPU_PLAN_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
    GPU_PLAN_SET,      /* only on request by `annot set` */
    GPU_PLAN_SIGNAL,   /* toggled by a signal */
    GPU_PLAN_RANGE,    /* while a range of that name is open; and of such ranges: */
    GPU_PLAN_STEP,     /* each N-th */
    GPU_PLAN_SCHEDULE, /* by the schedule of torch.profiler */
    GPU_PLAN_SLOW,     /* those after a slow one */
};

/* In rising order. */
enum gpu_want {
    GPU_WANT_NOTHING,
    GPU_WANT_WARM, /* ready and enabled, but records are dropped */
    GPU_WANT_ALL,
};

/* As torch.profiler.schedule. */
struct gpu_schedule {
    uint64_t skip_first, wait, warmup, active;
    uint64_t repeat; /* 0: endless */
};

struct gpu_plan {
    enum gpu_plan_kind kind;
    char name[GPU_PLAN_NAME];   /* of the ranges, or a pattern; "": no ranges are watched */
    char domain[GPU_PLAN_NAME]; /* "": any */
    int signal;
    uint64_t every, first, count; /* STEP: from 1; count 0: endless */
    struct gpu_schedule schedule;
    uint64_t over_ns, next; /* SLOW: number after each slow one */
    /* State: */
    enum gpu_want wanted;
    uint64_t begun;    /* steps */
    uint64_t open;     /* open ranges; overlapping ones are one step */
    uint64_t begin_ns; /* of the step */
    uint64_t left;     /* SLOW: still to record */
};

/* Returns 0, or -EINVAL with the error of the words in *ret_wrong, if it is not NULL. */
int gpu_plan_parse(const char *words, struct gpu_plan *ret_plan, const char **ret_wrong);

/* Restores the state after parsing, for another recording. */
void gpu_plan_reset(struct gpu_plan *plan);

/* Handle the begin or end of a range of its name, the signal, or one of the profiler's calls. They
 * change `wanted`. */
void gpu_plan_range(struct gpu_plan *plan, int begins, uint64_t now_ns);
void gpu_plan_toggle(struct gpu_plan *plan);
void gpu_plan_profiler(struct gpu_plan *plan, int begins);

#endif
