/* SPDX-License-Identifier: MIT */
/* What a command's environment has for libannot-gpu: see record_options.h.
 *
 * The CUDA driver loads one library (CUDA_INJECTION64_PATH). One that was set before is started by
 * ours, first. */
#include "record_options.h"

#include "cmd.h"
#include "record_inject.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define DRIVER_VARIABLE "CUDA_INJECTION64_PATH"

static bool find_library(char path[PATH_MAX])
{
    return library_of_annot("gpu", "libannot-gpu.so", path);
}

static const char *words_of(const struct gpu_values *values)
{
    bool by_profiler = strcmp(values->window, "profiler") == 0;
    if (by_profiler)
        return values->nodes ? "profiler,nodes" : "profiler";
    return values->nodes ? "on,nodes" : "on";
}

int gpu_check(const struct gpu_values *values, int status)
{
    char path[PATH_MAX];
    if (!values->on && values->nodes)
        return cmd_fail(status, "option --gpu-nodes: only with --gpu");
    if (!values->on && strcmp(values->window, "all") != 0)
        return cmd_fail(status, "option --gpu-window: only with --gpu");
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
    environment->variables[count++] = (struct child_variable){"ANNOT_GPU", words_of(values)};
    return count;
}
