/* SPDX-License-Identifier: MIT */
/* The environment of a command for libannot-gpu.
 *
 * The CUDA driver loads one library (CUDA_INJECTION64_PATH). If another one was set, libannot-gpu
 * starts it first. */
#include "gpu_options.h"

#include "cmd.h"
#include "gpu_plan.h"
#include "record_inject.h"
#include "record_options.h"
#include "text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER "libcuda.so.1"

#define DRIVER_VARIABLE "CUDA_INJECTION64_PATH"

static bool find_library(char path[PATH_MAX])
{
    return library_of_annot("libannot-gpu.so", path);
}

/* Returns the first given option that requires --gpu; NULL: all are at their defaults. */
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
    return cmd_fail(status, "option --gpu: annot was built without the headers of CUDA\n"
                            "with network access, " ANNOT_REBUILD);
}

/* Loads the library in a child, so that it does not stay loaded. */
static bool can_load(const char *library)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(dlopen(library, RTLD_LAZY | RTLD_LOCAL) ? 0 : 1);
    return child < 0 || waitpid(child, &status, 0) != child || status == 0;
}

/* A program may bring its own CUPTI, and a container its libcuda.so.1, but not a kernel module. */
void gpu_warn(const struct gpu_values *values)
{
    if (!values->on || access("/proc/driver/nvidia/version", F_OK) == 0 || can_load(DRIVER))
        return;
    cmd_note("option --gpu: this machine has no driver of NVIDIA (no " DRIVER
             ", no kernel module): "
             "no work of a GPU will be recorded");
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

/* ---- Kinds of records ------------------------------------------------------------------------ */

#define DEFAULT_API "runtime"

int gpu_kinds_check(const struct gpu_kinds_values *values, bool on, int status)
{
    bool has_period = values->pc_period != 0;
    if (has_period && !values->pc)
        return cmd_fail(status, "option --gpu-pc-period: only with --gpu-pc");
    if (has_period &&
        (values->pc_period < GPU_PC_PERIOD_MIN || values->pc_period > GPU_PC_PERIOD_MAX))
        return cmd_fail(status, "option --gpu-pc-period: %llu is not from %d to %d",
                        (unsigned long long)values->pc_period, GPU_PC_PERIOD_MIN,
                        GPU_PC_PERIOD_MAX);
    if (on)
        return 0;
    if (strcmp(values->api, DEFAULT_API) != 0)
        return cmd_fail(status, "option --gpu-api: only with --gpu");
    if (values->events)
        return cmd_fail(status, "option --gpu-events: only with --gpu");
    if (values->unified)
        return cmd_fail(status, "option --gpu-unified-memory: only with --gpu");
    if (values->pc)
        return cmd_fail(status, "option --gpu-pc: only with --gpu");
    return 0;
}

struct child_variable gpu_kinds_variable(const struct gpu_kinds_values *values,
                                         struct gpu_kinds_environment *environment)
{
    bool all = strcmp(values->api, "all") == 0;
    char pc[16] = "";
    if (values->pc_period)
        snprintf(pc, sizeof(pc), ",pc=%u", (unsigned)values->pc_period);
    else if (values->pc)
        snprintf(pc, sizeof(pc), ",pc");
    snprintf(environment->words, sizeof(environment->words), "%s%s%s%s",
             all ? "runtime,driver" : values->api, values->events ? ",events" : "",
             values->unified ? ",unified" : "", pc);
    return (struct child_variable){"ANNOT_GPU_KINDS", environment->words};
}
