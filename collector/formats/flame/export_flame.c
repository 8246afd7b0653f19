/* SPDX-License-Identifier: MIT */
/* Exports the flame graph (flame_svg.h): adds samples up into a tree and draws it at the end.
 * `annot flame` uses it. Thread-safety: none. */
#include "call_label.h"
#include "call_tree.h"
#include "export.h"
#include "flame_svg.h"
#include "gpu_stacks.h"

#include <errno.h>

struct state {
    const struct export_job *job;
    struct call_tree *tree;
    struct sample_weight weight; /* without `off_cpu` */
    bool any;
    uint64_t cpu_ns, hidden_ns; /* see struct flame_counts */
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    enum frame_choice frames = job->options->python   ? FRAMES_PYTHON
                               : job->options->native ? FRAMES_ALL
                                                      : FRAMES_OWNERS;
    s->job = job;
    return export_tree_create(job, frames, &s->weight, &s->tree);
}

static bool is_main(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    return thread && thread->tid == trace_process_get(trace, thread->process)->ns_pid;
}

static void weigh(struct state *s, const struct sample *sample, bool taken)
{
    const struct trace *trace = s->job->source->trace;
    const struct sample_sets *sets = trace_sets_get(trace);
    bool all = s->job->options->off_cpu || s->job->options->idle || s->job->options->value;
    if (!all && taken)
        s->cpu_ns += sample_cpu_ns(sets, sample);
    else if (!all && is_main(trace, sample->thread))
        s->hidden_ns += sample_off_share(sets, sample).blocked_ns;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    const struct sample_sets *sets = trace_sets_get(s->job->source->trace);
    bool waits = sample_role(sets, item->sample) == SAMPLE_ROLE_OFF_CPU;
    bool taken = s->job->options->off_cpu ? waits
                                          : (waits && s->job->options->idle) ||
                                                sample_weight_takes(s->weight, sets, item->sample);
    weigh(s, item->sample, taken);
    if (!taken)
        return 0;
    s->any = true;
    return call_tree_add(s->tree, item->sample);
}

static void describe_gpu(const struct state *s, struct flame_options *drawing)
{
    const struct trace *trace = s->job->source->trace;
    unsigned value = s->weight.index;
    drawing->work = s->job->options->gpu_all;
    drawing->piece = "launch";
    drawing->measure = value == LAUNCHED_TIME    ? "GPU time"
                       : value == LAUNCHED_BYTES ? "copied or set by GPUs"
                                                 : "of work for GPUs";
    drawing->unit = sample_unit_of(trace, sample_weight_type(trace, s->weight));
}

/* Sets the title texts and units of the drawing. */
static void describe(const struct state *s, char rate[SAMPLING_RATE_SIZE],
                     struct flame_options *drawing)
{
    const struct trace *trace = s->job->source->trace;
    const char *value = s->job->options->value;
    if (s->job->options->gpu_all) {
        describe_gpu(s, drawing);
    } else if (s->job->options->off_cpu) {
        drawing->measure = "time off the CPU";
        drawing->piece = "wait";
    } else if (s->job->options->idle) {
        drawing->measure = "CPU time and waits";
        drawing->piece = "sample";
    } else if (value) {
        drawing->measure = value;
        drawing->unit = sample_unit_of(trace, sample_weight_type(trace, s->weight));
    } else {
        drawing->rate = sampling_rate_text(trace_sampling_get(trace), rate);
    }
}

static int end(void *state)
{
    struct state *s = state;
    const struct export_options *wanted = s->job->options;
    const struct trace *trace = s->job->source->trace;
    struct flame_options drawing = {
        .title = wanted->title,
        .subtitle = wanted->subtitle,
        .measure = "CPU time",
        .piece = "sample",
        .min_width = wanted->min_width,
        .root_at_bottom = wanted->root_at_bottom,
    };
    struct flame_counts counts;
    char rate[SAMPLING_RATE_SIZE];
    describe(s, rate, &drawing);
    int error = s->any ? call_tree_finish(s->tree) : -ENODATA;
    if (!error)
        error = flame_svg_write(trace, s->tree, &drawing, s->job->out, &counts);
    counts.cpu_ns = s->cpu_ns;
    counts.hidden_ns = s->hidden_ns;
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
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_LINES,
    EXPORT_OPTION_VALUE,
    EXPORT_OPTIONS_GPU,
    {"off-cpu", 0, OPTION_FLAG, EXPORT_AT(off_cpu), NULL,
     "time in which threads did not run, by what they waited for", NULL},
    {"idle", 0, OPTION_FLAG, EXPORT_AT(idle), NULL, "CPU time and time off the CPU together", NULL},
    {"inverted", 0, OPTION_FLAG, EXPORT_AT(root_at_bottom), NULL, "put the root at the bottom",
     NULL},
    {"title", 0, OPTION_TEXT, EXPORT_AT(title), "TEXT", "title (default: the recorded command)",
     NULL},
    EXPORT_OPTION_STRIP(CALL_STRIP_LIBRARIES),
    {"min-width", 0, OPTION_NUMBER, EXPORT_AT(min_width), "PIXELS",
     "leave out boxes narrower than this", "0.6"},
    {0},
};

const struct exporter export_svg = {
    .name = "svg",
    .extension = ".svg",
    .summary = "a flame graph of the samples, as a picture",
    .carries = "stacks of samples",
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
