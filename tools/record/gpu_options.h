/* SPDX-License-Identifier: MIT */
/* Options of commands that record GPUs, and the resulting environment. Main thread only. */
#ifndef ANNOT_GPU_OPTIONS_H
#define ANNOT_GPU_OPTIONS_H

#include "child.h"
#include "collector.h"
#include "options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_values {
    const char *list;   /* NULL: without --gpu */
    const char *window; /* --gpu-window */
    double budget;      /* percent; 0: without a limit */
    uint64_t pc_period;
    bool off, nodes, driver, no_runtime, events, unified, pc, no_stacks, all_stacks, no_counters;
};

/* Entries of an option table; `at` is the offset of the struct gpu_values. */
#define GPU_OPTIONS(at)                                                                            \
    {                                                                                              \
        "gpu", 0, OPTION_PARTS, (at) + offsetof(struct gpu_values, list), "[=LIST]",               \
            "record kernels, copies, graphs and CUDA calls of NVIDIA GPUs; LIST: see GPU details", \
            NULL                                                                                   \
    }

#define GPU_FLAG(at, part, field, help)                                                            \
    {                                                                                              \
        "gpu=" part, 0, OPTION_FLAG, (at) + offsetof(struct gpu_values, field), NULL, help, NULL   \
    }

/* The rarely used ones; `at` as above. */
#define GPU_DETAIL_OPTIONS(at)                                                                     \
    {"gpu-window",                                                                                 \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     (at) + offsetof(struct gpu_values, window),                                                   \
     "WINDOW",                                                                                     \
     "when to record GPUs: all, profiler, set, signal:USR2, range:NAME, step:NAME:every=N, "       \
     "schedule:NAME:wait=N,warmup=N,active=N, slow:NAME:over=MS",                                  \
     "all"},                                                                                       \
        GPU_FLAG(at, "nodes", nodes,                                                               \
                 "record each kernel of a CUDA graph instead of whole graphs"),                    \
        GPU_FLAG(at, "driver", driver, "also record calls of the CUDA driver API"),                \
        GPU_FLAG(at, "-runtime", no_runtime, "record no calls of the CUDA runtime API"),           \
        GPU_FLAG(at, "events", events, "also record CUDA events"),                                 \
        GPU_FLAG(at, "unified-memory", unified,                                                    \
                 "also record migrations and page faults of unified memory"),                      \
        GPU_FLAG(at, "pc", pc, "also sample where and why warps stall in kernels"),                \
        {"gpu=pc-period",                                                                          \
         0,                                                                                        \
         OPTION_COUNT,                                                                             \
         (at) + offsetof(struct gpu_values, pc_period),                                            \
         "N",                                                                                      \
         "with pc: a sample every 2^N cycles of a multiprocessor, N from 5 to 31",                 \
         NULL},                                                                                    \
        GPU_FLAG(at, "all-stacks", all_stacks,                                                     \
                 "record the stack of every launch; by default, of a sample of them"),             \
        GPU_FLAG(at, "-stacks", no_stacks, "record no stacks of launches"),                        \
    {                                                                                              \
        "gpu=budget", 0, OPTION_NUMBER, (at) + offsetof(struct gpu_values, budget), "PERCENT",     \
            "record less of GPUs if that costs more of the program's time; in a job that attach "  \
            "records: 1",                                                                          \
            NULL                                                                                   \
    }

/* 0, or a message was printed: returns `status`. */
int gpu_check(const struct gpu_values *values, int status);

/* Prints a note if the machine cannot run GPU programs. Forks: call before signals are watched or
 * threads start. */
void gpu_warn(const struct gpu_values *values);

/* The budget, in percent, of a job that may be recorded later; and the rate at which the counters
 * of the machine's GPUs are read. */
enum { GPU_JOB_BUDGET = 1, GPU_COUNTERS_HZ = 10 };

enum { GPU_VARIABLES_MAX = 6 };

struct gpu_environment {
    struct child_variable variables[GPU_VARIABLES_MAX];
    char library[PATH_MAX], budget[32], words[64], kinds[64];
};

/* Sets the collector's options for GPU counters and stacks of launches. `library`: must outlive the
 * collector. */
void gpu_apply(const struct gpu_values *values, char library[PATH_MAX],
               struct collector_options *options);

/* Like python_environment. */
size_t gpu_environment(const struct gpu_values *values, struct gpu_environment *environment);

#endif
