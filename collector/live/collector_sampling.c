/* SPDX-License-Identifier: MIT */
/* Connects sampler, intake and store. */
#include "collector_sampling.h"

#include "clock_map.h"
#include "collector_gpus.h"
#include "collector_host.h"
#include "collector_requests.h"
#include "collector_writing.h"
#include "heaps.h"
#include "writer.h"

#include "stacks.h"

#include <errno.h>

enum { STACKS_MAX = 1 << 20 };

static int take_samples(void *context, const struct sample *samples, size_t count)
{
    struct sampling *sampling = context;
    for (size_t i = 0; i < count; i++) {
        enum sample_role role = sample_role(trace_sets_get(sampling->trace), &samples[i]);
        sampling->sample_count += role == SAMPLE_ROLE_CPU;
        sampling->stretch_count += role == SAMPLE_ROLE_OFF_CPU;
    }
    if (sampling->sink)
        return sampling->sink->samples(sampling->sink->context, samples, count);
    return store_writer_add_samples(sampling->writer, samples, count);
}

static int take_ranges(void *context, const struct event_batch *batch)
{
    struct sampling *sampling = context;
    return sampling->sink ? sink_add(sampling->sink, batch)
                          : writing_add(sampling->writer, sampling->trace, batch);
}

static bool live_bytes(void *context, int32_t pid, int64_t *ret_bytes)
{
    const struct sampling *sampling = context;
    return heaps_live(sampling->heaps, pid, ret_bytes);
}

static int64_t launch_ns(void *context, uint64_t time)
{
    return clock_map_ns(context, time);
}

int sampling_init(struct sampling *sampling, const struct collector_options *options,
                  struct trace *trace, struct lives *lives)
{
    struct sampler_options sampler = {
        .trace = trace,
        .lives = lives,
        .frequency_hz = options->sample_hz,
        .first_hz = options->sample_hz ? options->sample_first_hz : 0,
        .off_cpu = options->off_cpu,
        .off_cpu_threshold_ns = options->off_cpu_threshold_ns,
        .off_cpu_rate_max = options->off_cpu_rate_max,
        .rung_max = options->rung_max,
        .launch_ns = options->launches ? launch_ns : NULL,
        .launch_context = sampling->clock,
        .launch_library = options->launch_library,
        .heap_library = options->heap_library,
        .memory = options->heap_library || options->heap_exact,
        .live_bytes = sampling->heaps ? live_bytes : NULL,
        .take_ranges = take_ranges,
        .range_budget = options->range_budget,
        .sink = take_samples,
        .context = sampling,
    };
    sampling->trace = trace;
    sampling->gpu_hz = options->gpu_hz;
    if (options->sample_hz == 0 && !options->off_cpu && !options->ranges && !options->heap_library)
        return 0;
    return sampler_create(&sampler, &sampling->sampler);
}

void sampling_close(struct sampling *sampling)
{
    sampler_destroy(sampling->sampler);
    sampling->sampler = NULL;
    nvml_destroy(sampling->gpus.nvml);
    sampling->gpus.nvml = NULL;
    if (sampling->writer)
        stacks_forget(trace_stacks(sampling->trace), UINT32_MAX);
}

void sampling_fini(struct sampling *sampling)
{
    sampler_destroy(sampling->sampler);
    sampling->sampler = NULL;
    nvml_destroy(sampling->gpus.nvml);
    sampling->gpus.nvml = NULL;
    vec_free(&sampling->waiting);
}

int sampling_track(struct sampling *sampling, int32_t pid, unsigned flags, bool now)
{
    if (!sampling->sampler)
        return 0;
    if (flags & SAMPLER_TRACK_ATTACH)
        host_add_processors(sampling->trace, &sampling->processors, pid);
    return now ? sampler_track(sampling->sampler, pid, flags) : vec_push(&sampling->waiting, pid);
}

int sampling_add_range(struct sampling *sampling, const struct sampler_range_request *wish,
                       struct sampler_range_result *ret_result)
{
    *ret_result = (struct sampler_range_result){0};
    return sampling->sampler ? sampler_add_range(sampling->sampler, wish, ret_result) : -EOPNOTSUPP;
}

int sampling_begin(struct sampling *sampling)
{
    int error = 0;
    for (size_t i = 0; i < sampling->waiting.count && error == 0; i++) {
        error = sampler_track(sampling->sampler, sampling->waiting.items[i], SAMPLER_TRACK_ATTACH);
        if (error == -ESRCH)
            error = 0;
    }
    sampling->waiting.count = 0;
    if (error == 0 && sampling->gpu_hz > 0)
        error = nvml_start(sampling->gpu_hz, &sampling->gpus.nvml);
    return error;
}

/* Long recordings keep adding stacks. Forgets at least half of them at once, so that it is rare. */
static void forget_stacks(struct sampling *sampling)
{
    struct stacks *stacks = trace_stacks(sampling->trace);
    uint32_t written = store_writer_stacks_written(sampling->writer);
    uint32_t unwritten = stacks_stack_count(stacks) - written;
    if (stacks_kept_count(stacks) > STACKS_MAX && unwritten <= STACKS_MAX / 2)
        stacks_forget(stacks, written);
}

int sampling_step(struct sampling *sampling, const struct session_file *session)
{
    int error = gpus_step(sampling);
    if (error == 0)
        error = ranges_take(sampling, session);
    if (!sampling->sampler || error != 0)
        return error;
    error = sampler_step(sampling->sampler);
    if (sampling->writer)
        forget_stacks(sampling);
    return error;
}

int sampling_timeout_ms(const struct sampling *sampling, int most_ms)
{
    int sampler = sampling->sampler ? sampler_timeout_ms(sampling->sampler) : -1;
    return sampler >= 0 && sampler < most_ms ? sampler : most_ms;
}

int sampling_emit_waiting(struct sampling *sampling)
{
    return sampling->sampler ? sampler_emit_waiting(sampling->sampler) : 0;
}

int sampling_finish(struct sampling *sampling)
{
    nvml_end(sampling->gpus.nvml);
    int error = gpus_step(sampling);
    return sampling->sampler && error == 0 ? sampler_finish(sampling->sampler) : error;
}
