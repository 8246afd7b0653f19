/* SPDX-License-Identifier: MIT */
/* Implements job_environment.h. */
#include "job_environment.h"

#include "cmd.h"
#include "gpu_options.h"
#include "python_environment.h"

#include <string.h>

static void add(struct job_environment *environment, const struct child_variable *variables,
                size_t count)
{
    memcpy(environment->variables + environment->count, variables, count * sizeof(*variables));
    environment->count += count;
}

/* Enables GPUs too, if libannot-gpu is installed and --gpu=off is not given: until a recording
 * starts, the cost is a thread that polls rarely. */
static struct gpu_values gpu_of(const struct job_values *values)
{
    struct gpu_values gpu = values->gpu;
    char path[PATH_MAX];
    if (!gpu.list && library_of_annot("libannot-gpu.so", path))
        gpu.list = "";
    if (gpu.list && gpu.budget == 0)
        gpu.budget = GPU_JOB_BUDGET;
    return gpu;
}

int job_environment(const struct job_values *values, int status,
                    struct job_environment *environment)
{
    const struct gpu_values gpu = gpu_of(values);
    int error = python_check(&values->python, status);
    if (error == 0)
        error = gpu_check(&gpu, status);
    if (error != 0)
        return error;
    environment->count = 0;
    size_t count = python_environment(&values->python, &environment->python);
    add(environment, environment->python.variables, count);
    count = inject_environment(&values->inject, &environment->inject);
    add(environment, environment->inject.variables, count);
    count = gpu_environment(&gpu, &environment->gpu);
    add(environment, environment->gpu.variables, count);
    return 0;
}
