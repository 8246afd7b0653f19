/* SPDX-License-Identifier: MIT */
/* When GPUs are recorded: what --gpu-window says, and what follows from it as ranges come.
 *
 * Compiled into the command, which checks the words, and into libannot-gpu, which obeys. No memory,
 * no clock of its own. Threads: one after the other. */
#ifndef ANNOT_GPU_PLAN_H
#define ANNOT_GPU_PLAN_H

#include <stdint.h>

enum { GPU_PLAN_NAME = 256 };

/* One sample of the program counter in 2^N cycles. */
enum { GPU_PC_PERIOD_MIN = 5, GPU_PC_PERIOD_MAX = 31 };

enum gpu_plan_kind {
    GPU_PLAN_ALL,      /* always */
    GPU_PLAN_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
    GPU_PLAN_SET,      /* only when `annot set` says so */
    GPU_PLAN_SIGNAL,   /* a signal switches it */
    GPU_PLAN_RANGE,    /* while a range of that name is open; and of such ranges: */
    GPU_PLAN_STEP,     /* each N-th */
    GPU_PLAN_SCHEDULE, /* as the schedule of torch.profiler */
    GPU_PLAN_SLOW,     /* those after one that took long */
};

/* Rising. */
enum gpu_want {
    GPU_WANT_NOTHING,
    GPU_WANT_WARM, /* all is ready and enabled, and nothing is kept */
    GPU_WANT_ALL,
};

/* Of torch.profiler.schedule. */
struct gpu_schedule {
    uint64_t skip_first, wait, warmup, active;
    uint64_t repeat; /* 0: for ever */
};

struct gpu_plan {
    enum gpu_plan_kind kind;
    char name[GPU_PLAN_NAME];   /* of the ranges, or a pattern; "": none are looked at */
    char domain[GPU_PLAN_NAME]; /* "": any */
    int signal;
    uint64_t every, first, count; /* STEP: from 1; count 0: no end */
    struct gpu_schedule schedule;
    uint64_t over_ns, next; /* SLOW: so many after each */
    /* What has happened: */
    enum gpu_want wanted;
    uint64_t begun;    /* steps */
    uint64_t open;     /* ranges that overlap are one step */
    uint64_t begin_ns; /* of the step */
    uint64_t left;     /* SLOW: to be recorded yet */
};

/* 0; or -EINVAL, and *ret_wrong, if it is not NULL, says what is wrong with the words. */
int gpu_plan_parse(const char *words, struct gpu_plan *ret_plan, const char **ret_wrong);

/* As it was parsed: another recording. */
void gpu_plan_reset(struct gpu_plan *plan);

/* A range of its name begins, or ends; the signal came; one of the profiler's calls. They change
 * `wanted`. */
void gpu_plan_range(struct gpu_plan *plan, int begins, uint64_t now_ns);
void gpu_plan_toggle(struct gpu_plan *plan);
void gpu_plan_profiler(struct gpu_plan *plan, int begins);

#endif
