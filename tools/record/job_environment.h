/* SPDX-License-Identifier: MIT */
/* The environment with which a job can be recorded later as fully as by `annot record` from its
 * start: the variables of annot-record(1), except those of a session. Main thread only. */
#ifndef ANNOT_JOB_ENVIRONMENT_H
#define ANNOT_JOB_ENVIRONMENT_H

#include "gpu_options.h"
#include "python_environment.h"
#include "record_inject.h"
#include "record_options.h"

struct job_values {
    struct python_values python;
    struct inject_values inject;
    struct gpu_values gpu;
};

/* Entries of an option table; `at` is the offset of the struct job_values. */
#define JOB_OPTIONS(at)                                                                            \
    PYTHON_OPTIONS((at) + offsetof(struct job_values, python)),                                    \
        INJECT_OPTIONS((at) + offsetof(struct job_values, inject)),                                \
        GPU_OPTIONS((at) + offsetof(struct job_values, gpu)),                                      \
        GPU_DETAIL_OPTIONS((at) + offsetof(struct job_values, gpu)),                               \
        GPU_FLAG((at) + offsetof(struct job_values, gpu), "off", off,                              \
                 "load nothing into programs that use CUDA")

enum { JOB_VARIABLES_MAX = PYTHON_VARIABLES_MAX + INJECT_VARIABLES_MAX + GPU_VARIABLES_MAX };

struct job_environment {
    struct child_variable variables[JOB_VARIABLES_MAX];
    size_t count;
    struct python_environment python;
    struct inject_environment inject;
    struct gpu_environment gpu;
};

/* Fills in the variables, which point into *environment. 0, or `status` after a printed message. */
int job_environment(const struct job_values *values, int status,
                    struct job_environment *environment);

#endif
