/* SPDX-License-Identifier: MIT */
/* See export_tree.h. */
#include "export_tree.h"

#include "call_tree.h"
#include "export.h"

#include <errno.h>
#include <string.h>

unsigned export_call_groups(const char *by)
{
    if (!by)
        return 0;
    if (strcmp(by, "range") == 0)
        return CALL_BY_RANGE;
    return CALL_BY_PROCESS | (strcmp(by, "thread") == 0 ? CALL_BY_THREAD : 0);
}

enum frame_choice export_frames(const struct export_options *options)
{
    if (options->native)
        return FRAMES_ALL;
    return options->python ? FRAMES_PYTHON : FRAMES_BRIEF;
}

int export_tree_create(const struct export_job *job, enum frame_choice frames,
                       struct sample_weight *ret_weight, struct call_tree **ret_tree)
{
    const struct export_options *options = job->options;
    const struct trace *trace = job->source->trace;
    int error = options->value ? sample_weight_find(trace, options->value, ret_weight) : 0;
    const struct call_tree_options grouping = {
        .weight = *ret_weight,
        .groups = export_call_groups(options->by),
        .prefixes = options->strip_prefix,
        .frames = frames,
        .lines = options->lines,
    };
    if (error)
        return error;
    *ret_tree = call_tree_create(trace, &grouping);
    return *ret_tree ? 0 : -ENOMEM;
}

int export_tree_add(const struct export_job *job, struct sample_weight weight,
                    struct call_tree *tree, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(job->source->trace);
    return sample_weight_takes(weight, sets, sample) ? call_tree_add(tree, sample) : 0;
}
