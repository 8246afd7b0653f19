/* SPDX-License-Identifier: MIT */
/* What of a GPU is recorded: see record_options.h. */
#include "record_options.h"

#include "cmd.h"
#include "gpu_plan.h"

#include <stdio.h>
#include <string.h>

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
