/* SPDX-License-Identifier: MIT */
/* What a command's environment has for libannot-gpu: see record_options.h.
 *
 * The CUDA driver loads one library (CUDA_INJECTION64_PATH). One that was set before is started by
 * ours, first. */
#include "record_options.h"

#include "cmd.h"
#include "text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER_VARIABLE "CUDA_INJECTION64_PATH"

/* Beside annot as it is built, or installed; the folder of the machine's own libraries, too. */
static bool find_library(char path[PATH_MAX])
{
    static const char *const patterns[] = {"/../libannot/gpu/libannot-gpu.so",
                                           "/../lib*/libannot-gpu.so", "/../lib/*/libannot-gpu.so"};
    char self[PATH_MAX], pattern[PATH_MAX + 64];
    glob_t found;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return false;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash || strpbrk(self, "*?[\\"))
        return false;
    *slash = 0;
    path[0] = 0;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns) && path[0] == 0; i++) {
        snprintf(pattern, sizeof(pattern), "%s%s", self, patterns[i]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        if (!realpath(found.gl_pathv[0], path))
            path[0] = 0;
        globfree(&found);
    }
    return path[0] != 0;
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
