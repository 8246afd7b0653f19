/* SPDX-License-Identifier: MIT */
/* Exporters by name and by path, their options, and the loop that feeds one. */
#include "export.h"

#include "call_tree.h"
#include "export_facts.h"
#include "gpu_stacks.h"
#include "gpu_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Grouping of stacks, by additional frames around the root: "process", "thread", "range" (the path
 * of open ranges); NULL: no grouping. As enum call_group. */
static unsigned export_call_groups(const char *by)
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

#define TIME_MAX_NS (INT64_MAX / 4) /* 73 years */
#define VALUE_MAX   (INT64_C(1) << 50)

const struct exporter *exporter_by_name(const char *name)
{
    for (const struct exporter *const *at = exporters; *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}

uint32_t exporter_wants(const struct exporter *exporter, const struct export_options *options)
{
    return exporter->choose ? exporter->choose(options) : exporter->wants;
}

/* True if an option has a value. */
static bool is_given(const struct option_spec *spec, const struct export_options *options)
{
    const char *at = (const char *)options + spec->offset;
    if (spec->kind == OPTION_FLAG)
        return *(const bool *)at;
    if (spec->kind == OPTION_NUMBER)
        return *(const double *)at > 0;
    return *(const char *const *)at != NULL;
}

static void fall_back(const struct option_spec *spec, struct export_options *options)
{
    char *at = (char *)options + spec->offset;
    if (!spec->fallback || is_given(spec, options))
        return;
    if (spec->kind == OPTION_NUMBER)
        options_parse_number(spec->fallback, (double *)at);
    else
        *(const char **)at = spec->fallback;
}

static bool has_option(const struct exporter *exporter, const char *name)
{
    for (const struct option_spec *spec = exporter->options; spec && spec->name; spec++)
        if (strcmp(spec->name, name) == 0)
            return true;
    return false;
}

const char *export_refuses(const struct exporter *exporter, const struct export_options *options)
{
    for (const struct exporter *const *other = exporters; *other; other++)
        for (const struct option_spec *spec = (*other)->options; spec && spec->name; spec++)
            if (is_given(spec, options) && !has_option(exporter, spec->name))
                return spec->name;
    return NULL;
}

static bool ends_with(const char *text, size_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

/* File extensions of other tools. */
static const struct {
    const char *extension, *name;
} other_names[] = {
    {".perfetto-trace", "perfetto"},
    {".prof", "pstats"},
    {".pprof", "pprof"},
    {".collapsed", "folded"},
};

const struct exporter *exporter_by_path(const char *path)
{
    const struct exporter *found = NULL;
    size_t whole = strlen(path), length;
    while (whole > 1 && path[whole - 1] == '/') /* added by the completion of shells */
        whole--;
    length = whole;
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (ends_with(path, length, other_names[i].extension))
            return exporter_by_name(other_names[i].name);
    for (const struct exporter *const *at = exporters; *at; at++) {
        const char *extension = (*at)->extension;
        bool longer = !found || strlen(extension) > strlen(found->extension);
        if (longer && (ends_with(path, length, extension) || ends_with(path, whole, extension)))
            found = *at;
    }
    return found;
}

/* Limits times and values so that exporters can add two without overflow. Only a crafted file
 * exceeds the limits. */
static struct sample within_reason(const struct sample_sets *sets, const struct sample *sample,
                                   int64_t values[SAMPLE_VALUES_MAX])
{
    struct sample copy = *sample;
    bool inside = sample_cut(sets, &copy, 0, TIME_MAX_NS, values);
    int64_t *times[] = {&copy.time_ns, &copy.end_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times) && !inside; i++) {
        if (*times[i] < 0)
            *times[i] = 0;
        if (*times[i] > TIME_MAX_NS)
            *times[i] = TIME_MAX_NS;
    }
    if (copy.value_count > SAMPLE_VALUES_MAX)
        copy.value_count = SAMPLE_VALUES_MAX;
    for (int i = 0; i < copy.value_count; i++)
        values[i] = copy.values[i] < 0           ? 0
                    : copy.values[i] > VALUE_MAX ? VALUE_MAX
                                                 : copy.values[i];
    copy.values = values;
    return copy;
}

struct run {
    const struct exporter *exporter;
    const struct sample_sets *sets;
    void *state;
};

static int take_sample(const struct run *run, const struct item *item)
{
    int64_t values[SAMPLE_VALUES_MAX];
    const struct sample sample = within_reason(run->sets, item->sample, values);
    struct item copy = *item;
    copy.sample = &sample;
    return run->exporter->take(run->state, &copy);
}

static int take(void *context, const struct item *item)
{
    const struct run *run = context;
    return item->kind == ITEM_SAMPLE ? take_sample(run, item)
                                     : run->exporter->take(run->state, item);
}

static int read_all(struct run *run, const struct export_job *job, struct pass_counts *ret_counts)
{
    struct sink sink = {take, run, exporter_wants(run->exporter, job->options)};
    if (!gpu_has_queues(job->source->trace))
        sink.wants &= ~(uint32_t)WANT_ORIGINS;
    if (export_call_groups(job->options->by) & CALL_BY_RANGE)
        sink.wants |= WANT_PATHS;
    struct pass *pass = pass_create(job->source, job->selection, &sink, 1);
    int status = pass ? 1 : -ENOMEM;
    while (status == 1) {
        status = pass_step(pass);
        if (status >= 0 && out_error(job->out)) /* a full disk ends the export early */
            status = out_error(job->out);
    }
    if (pass && ret_counts)
        *ret_counts = *pass_counts(pass);
    pass_destroy(pass);
    return status;
}

/* Replaces the recording's own samples. */
static int read_gpu(const struct export_job *job, struct export_options *options,
                    struct gpu_stacks **ret_gpu)
{
    const struct gpu_stacks_options wanted = {.by_range =
                                                  export_call_groups(options->by) & CALL_BY_RANGE};
    int error = gpu_stacks_read(job->source, job->selection, &wanted, ret_gpu);
    if (error)
        return error;
    options->value = gpu_value_name(options->gpu_value);
    options->gpu_all = gpu_stacks_totals(*ret_gpu);
    if (options->ret_gpu)
        *options->ret_gpu = *options->gpu_all;
    return options->gpu_all->values[LAUNCHED_CALLS] ? 0 : -ENODATA;
}

static int feed(struct run *run, const struct export_job *job, const struct gpu_stacks *gpu,
                struct pass_counts *ret_counts)
{
    const struct sink sink = {take, run, 0};
    int error = run->exporter->begin(run->state, job);
    if (!error)
        error = gpu ? gpu_stacks_report(gpu, &sink) : read_all(run, job, ret_counts);
    return error ? error : run->exporter->end(run->state);
}

int export_run(const struct exporter *exporter, const struct export_job *job,
               struct pass_counts *ret_counts)
{
    struct export_options options = job->options ? *job->options : (struct export_options){0};
    struct gpu_stacks *gpu = NULL;
    static const struct pass_selection all = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};
    const struct export_job whole = {.source = job->source,
                                     .selection = job->selection ? job->selection : &all,
                                     .options = &options,
                                     .out = job->out,
                                     .metadata = job->metadata};
    for (const struct option_spec *spec = exporter->options; spec && spec->name; spec++)
        fall_back(spec, &options);
    struct run run = {exporter, trace_sets_get(job->source->trace),
                      calloc(1, exporter->state_size)};
    if (!run.state)
        return -ENOMEM;
    int error = options.gpu || options.gpu_value ? read_gpu(&whole, &options, &gpu) : 0;
    if (!error)
        error = feed(&run, &whole, gpu, ret_counts);
    if (exporter->destroy)
        exporter->destroy(run.state);
    gpu_stacks_destroy(gpu);
    free(run.state);
    return error ? error : out_error(job->out);
}
