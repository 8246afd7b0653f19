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
    bool on, nodes;
    const char *window, *stacks;
    double budget; /* percent; 0: without a limit */
};

/* Entries of an option table; `at` is the offset of the struct gpu_values. */
#define GPU_OPTIONS(at)                                                                            \
    {                                                                                              \
        "gpu", 0, OPTION_FLAG, (at) + offsetof(struct gpu_values, on), NULL,                       \
            "record kernels, copies and graphs of NVIDIA GPUs", NULL                               \
    }

/* The rarely used ones; `at` as above. */
#define GPU_DETAIL_OPTIONS(at)                                                                     \
    {"gpu-nodes", 0,                                                                               \
     OPTION_FLAG, (at) + offsetof(struct gpu_values, nodes),                                       \
     NULL,        "record each kernel of a CUDA graph instead of whole graphs",                    \
     NULL},                                                                                        \
        {"gpu-window",                                                                             \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         (at) + offsetof(struct gpu_values, window),                                               \
         "WINDOW",                                                                                 \
         "when to record GPUs: all, profiler, set, signal:USR2, range:NAME, step:NAME:every=N, "   \
         "schedule:NAME:wait=N,warmup=N,active=N, slow:NAME:over=MS",                              \
         "all"},                                                                                   \
        {"gpu-stacks",                                                                             \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         (at) + offsetof(struct gpu_values, stacks),                                               \
         "sampled|exact|off",                                                                      \
         "take the stack of one launch of many, of all, or of none",                               \
         "sampled"},                                                                               \
    {                                                                                              \
        "gpu-budget", 0, OPTION_NUMBER, (at) + offsetof(struct gpu_values, budget), "PERCENT",     \
            "record less of GPUs if that costs more of the time; a job that runs already: 1", NULL \
    }

/* 0, or a message was printed: returns `status`. */
int gpu_check(const struct gpu_values *values, int status);

/* Prints a note if the machine cannot run GPU programs. Forks: call before signals are watched or
 * threads start. */
void gpu_warn(const struct gpu_values *values);

/* The budget, in percent, of a job that may be recorded later; and the rate at which the counters
 * of the machine's GPUs are read. */
enum { GPU_JOB_BUDGET = 1, GPU_COUNTERS_HZ = 10 };

enum { GPU_VARIABLES_MAX = 5 };

struct gpu_environment {
    struct child_variable variables[GPU_VARIABLES_MAX];
    char library[PATH_MAX], budget[32], words[64];
};

/* Sets the collector's options for stacks of launches. `library`: must outlive the collector. */
void gpu_apply(const struct gpu_values *values, char library[PATH_MAX],
               struct collector_options *options);

/* Like python_environment. */
size_t gpu_environment(const struct gpu_values *values, struct gpu_environment *environment);

/* Records of GPUs other than kernels, copies, sets and graphs. */
struct gpu_kinds_values {
    const char *api;
    bool events, unified, pc;
    uint64_t pc_period;
};

/* Entries of an option table; `at` is the offset of the struct gpu_kinds_values. */
#define GPU_KINDS_OPTIONS(at)                                                                      \
    {"gpu-api",                                                                                    \
     0,                                                                                            \
     OPTION_CHOICE,                                                                                \
     (at) + offsetof(struct gpu_kinds_values, api),                                                \
     "runtime|driver|all|off",                                                                     \
     "with --gpu: which of the program's calls of CUDA are recorded",                              \
     "runtime"},                                                                                   \
        {"gpu-events", 0,                                                                          \
         OPTION_FLAG,  (at) + offsetof(struct gpu_kinds_values, events),                           \
         NULL,         "with --gpu: also events that are recorded into streams",                   \
         NULL},                                                                                    \
        {"gpu-unified-memory",                                                                     \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct gpu_kinds_values, unified),                                        \
         NULL,                                                                                     \
         "with --gpu: also unified memory that moves, and its page faults",                        \
         NULL},                                                                                    \
        {"gpu-pc",    0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct gpu_kinds_values, pc),                                \
         NULL,        "with --gpu: also where in kernels warps stall, and why",                    \
         NULL},                                                                                    \
    {                                                                                              \
        "gpu-pc-period", 0, OPTION_COUNT, (at) + offsetof(struct gpu_kinds_values, pc_period),     \
            "N", "one such sample in 2^N cycles of a multiprocessor, N from 5 to 31", NULL         \
    }

/* 0, or a message was printed: returns `status`. */
int gpu_kinds_check(const struct gpu_kinds_values *values, bool on, int status);

struct gpu_kinds_environment {
    char words[64];
};

/* The variable of a command with recorded GPUs. It points into *environment. */
struct child_variable gpu_kinds_variable(const struct gpu_kinds_values *values,
                                         struct gpu_kinds_environment *environment);

#endif
