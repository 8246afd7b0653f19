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

static bool is_on(const struct gpu_values *values)
{
    return values->list && !values->off;
}

static bool has_stacks(const struct gpu_values *values)
{
    return is_on(values) && !values->no_stacks;
}

static int check_parts(const struct gpu_values *values, int status)
{
    if (values->off && strcmp(values->list, "off") != 0)
        return cmd_fail(status, "option --gpu: off and other parts: use only one");
    if (values->no_stacks && values->all_stacks)
        return cmd_fail(status, "option --gpu: all-stacks and -stacks: use only one");
    if (values->budget > 100)
        return cmd_fail(status, "option --gpu=budget: %g percent are more than all there is",
                        values->budget);
    if (values->pc_period == 0)
        return 0;
    if (!values->pc)
        return cmd_fail(status, "option --gpu=pc-period: only with --gpu=pc");
    if (values->pc_period < GPU_PC_PERIOD_MIN || values->pc_period > GPU_PC_PERIOD_MAX)
        return cmd_fail(status, "option --gpu=pc-period: %llu is not from %d to %d",
                        (unsigned long long)values->pc_period, GPU_PC_PERIOD_MIN,
                        GPU_PC_PERIOD_MAX);
    return 0;
}

int gpu_check(const struct gpu_values *values, int status)
{
    char path[PATH_MAX];
    if (!is_on(values) && strcmp(values->window, "all") != 0)
        return cmd_fail(status, "option --gpu-window: only with --gpu");
    if (check_window(values->window, status) != 0 || check_parts(values, status) != 0)
        return status;
    if (!is_on(values) || find_library(path))
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
    if (!is_on(values) || access("/proc/driver/nvidia/version", F_OK) == 0 || can_load(DRIVER))
        return;
    cmd_note("option --gpu: this machine has no driver of NVIDIA (no " DRIVER
             ", no kernel module): "
             "no work of a GPU will be recorded");
}

/* Writes the kinds of records other than kernels, copies, sets and graphs. */
static void write_kinds(const struct gpu_values *values, struct text *text)
{
    text_format(text, "%s%s%s%s%s", values->no_runtime ? "" : "runtime",
                values->driver && !values->no_runtime ? "," : "", values->driver ? "driver" : "",
                values->no_runtime && !values->driver ? "off" : "",
                values->events ? ",events" : "");
    if (values->unified)
        text_format(text, ",unified");
    if (values->pc_period)
        text_format(text, ",pc=%u", (unsigned)values->pc_period);
    else if (values->pc)
        text_format(text, ",pc");
}

size_t gpu_environment(const struct gpu_values *values, struct gpu_environment *environment)
{
    const char *before = getenv(DRIVER_VARIABLE);
    size_t count = 0;
    struct text kinds = text_init(environment->kinds, sizeof(environment->kinds));
    if (!is_on(values) || !find_library(environment->library))
        return 0;
    struct child_variable *variables = environment->variables;
    if (before && *before &&
        strcmp(text_base_name(before), text_base_name(environment->library)) != 0)
        variables[count++] = (struct child_variable){"ANNOT_CUDA_NEXT", before};
    snprintf(environment->words, sizeof(environment->words), "on%s,stacks=%s",
             values->nodes ? ",nodes" : "",
             values->no_stacks    ? "off"
             : values->all_stacks ? "exact"
                                  : "sampled");
    snprintf(environment->budget, sizeof(environment->budget), "%g", values->budget);
    write_kinds(values, &kinds);
    variables[count++] = (struct child_variable){DRIVER_VARIABLE, environment->library};
    variables[count++] = (struct child_variable){"ANNOT_GPU", environment->words};
    variables[count++] = (struct child_variable){"ANNOT_GPU_WINDOW", values->window};
    variables[count++] = (struct child_variable){"ANNOT_GPU_BUDGET", environment->budget};
    variables[count++] = (struct child_variable){"ANNOT_GPU_KINDS", environment->kinds};
    return count;
}

void gpu_apply(const struct gpu_values *values, char library[PATH_MAX],
               struct collector_options *options)
{
    if (is_on(values) && !values->no_counters)
        options->gpu_hz = GPU_COUNTERS_HZ;
    options->launches = has_stacks(values);
    options->launch_library = options->launches && find_library(library) ? library : NULL;
}
