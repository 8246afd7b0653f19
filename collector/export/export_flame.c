/* SPDX-License-Identifier: MIT */
/* The flame graph (flame_svg.h) as an exporter: samples are added up into a tree, which is drawn at
 * the end. `annot flame` is a front of it. Thread-safety: none. */
#include "call_label.h"
#include "call_tree.h"
#include "export.h"
#include "flame_svg.h"

#include <errno.h>

struct state {
    const struct export_job *job;
    struct call_tree *tree;
    enum sample_role role;
    bool any;
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct call_tree_options grouping = {
        .groups = export_call_groups(job->options->by),
        .prefixes = job->options->strip_prefix,
        .python = job->options->python,
    };
    s->job = job;
    s->role = job->options->off_cpu ? SAMPLE_ROLE_OFF_CPU : SAMPLE_ROLE_CPU;
    s->tree = call_tree_create(job->source->trace, &grouping);
    return s->tree ? 0 : -ENOMEM;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    if (sample_role(trace_sets_get(s->job->source->trace), item->sample) != s->role)
        return 0;
    s->any = true;
    return call_tree_add(s->tree, item->sample);
}

static int end(void *state)
{
    struct state *s = state;
    const struct export_options *wanted = s->job->options;
    const struct trace *trace = s->job->source->trace;
    const struct flame_options drawing = {
        .title = wanted->title,
        .subtitle = wanted->subtitle,
        .measure = wanted->off_cpu ? "time off the CPU" : "CPU time",
        .piece = wanted->off_cpu ? "wait" : "sample",
        .frequency_hz = wanted->off_cpu ? 0 : trace_sampling_get(trace)->frequency_hz,
        .min_width = wanted->min_width,
        .root_at_bottom = wanted->root_at_bottom,
    };
    struct flame_counts counts;
    int error = s->any ? call_tree_finish(s->tree) : -ENODATA;
    if (!error)
        error = flame_svg_write(trace, s->tree, &drawing, s->job->out, &counts);
    if (!error && wanted->ret_flame)
        *wanted->ret_flame = counts;
    return error;
}

static void destroy(void *state)
{
    call_tree_destroy(((struct state *)state)->tree);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_BY,
    EXPORT_OPTION_PYTHON,
    {"off-cpu", 0, OPTION_FLAG, EXPORT_AT(off_cpu), NULL,
     "time in which threads did not run, by what they waited for", NULL},
    {"inverted", 0, OPTION_FLAG, EXPORT_AT(root_at_bottom), NULL,
     "the root at the bottom, as flames rise", NULL},
    {"title", 0, OPTION_TEXT, EXPORT_AT(title), "TEXT", "title; default: the recorded command",
     NULL},
    EXPORT_OPTION_STRIP(CALL_STRIP_LIBRARIES),
    {"min-width", 0, OPTION_NUMBER, EXPORT_AT(min_width), "PIXELS",
     "functions narrower than that are put together", "0.1"},
    {0},
};

const struct exporter export_svg = {
    .name = "svg",
    .extension = ".svg",
    .summary = "a flame graph of the samples, for browsers",
    .viewer = "in a browser",
    .tells_missing = true,
    .options = options,
    .wants = WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
