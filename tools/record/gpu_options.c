/* SPDX-License-Identifier: MIT */
/* What a command's environment has for libannot-gpu: see record_options.h.
 *
 * The CUDA driver loads one library (CUDA_INJECTION64_PATH). One that was set before is started by
 * ours, first. */
#include "record_options.h"

#include "cmd.h"
#include "gpu_plan.h"
#include "record_inject.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_VARIABLE "CUDA_INJECTION64_PATH"

static bool find_library(char path[PATH_MAX])
{
    return library_of_annot("gpu", "libannot-gpu.so", path);
}

/* What belongs to --gpu: the first that is given; NULL: none. */
static const char *given(const struct gpu_values *values)
{
    return values->nodes                            ? "--gpu-nodes"
           : strcmp(values->window, "all") != 0     ? "--gpu-window"
           : strcmp(values->stacks, "sampled") != 0 ? "--gpu-stacks"
           : values->budget > 0                     ? "--gpu-budget"
                                                    : NULL;
}

static int check_window(const char *window, int status)
{
    struct gpu_plan plan;
    const char *wrong;
    if (gpu_plan_parse(window, &plan, &wrong) == 0)
        return 0;
    return cmd_fail(status,
                    "option --gpu-window: \"%s\": %s\n"
                    "\"annot record --help\" lists the forms, \"man annot-record\" explains them",
                    window, wrong);
}

static bool has_stacks(const struct gpu_values *values)
{
    return values->on && strcmp(values->stacks, "off") != 0;
}

int gpu_check(const struct gpu_values *values, int status)
{
    char path[PATH_MAX];
    if (!values->on && given(values))
        return cmd_fail(status, "option %s: only with --gpu", given(values));
    if (check_window(values->window, status) != 0)
        return status;
    if (values->budget > 100)
        return cmd_fail(status, "option --gpu-budget: %g percent are more than all there is",
                        values->budget);
    if (!values->on || find_library(path))
        return 0;
    return cmd_fail(status, "option --gpu: this annot has no libannot-gpu.so\n"
                            "it is built where the headers of CUDA are");
}

size_t gpu_environment(const struct gpu_values *values, struct gpu_environment *environment)
{
    const char *before = getenv(DRIVER_VARIABLE);
    size_t count = 0;
    if (!values->on || !find_library(environment->library))
        return 0;
    if (before && *before &&
        strcmp(text_base_name(before), text_base_name(environment->library)) != 0)
        environment->variables[count++] = (struct child_variable){"ANNOT_CUDA_NEXT", before};
    environment->variables[count++] =
        (struct child_variable){DRIVER_VARIABLE, environment->library};
    snprintf(environment->words, sizeof(environment->words), "on%s,stacks=%s",
             values->nodes ? ",nodes" : "", values->stacks);
    environment->variables[count++] = (struct child_variable){"ANNOT_GPU", environment->words};
    environment->variables[count++] = (struct child_variable){"ANNOT_GPU_WINDOW", values->window};
    snprintf(environment->budget, sizeof(environment->budget), "%g", values->budget);
    environment->variables[count++] =
        (struct child_variable){"ANNOT_GPU_BUDGET", environment->budget};
    return count;
}

void gpu_apply(const struct gpu_values *values, char library[PATH_MAX],
               struct collector_options *options)
{
    options->launches = has_stacks(values);
    options->launch_library = options->launches && find_library(library) ? library : NULL;
}
