/* SPDX-License-Identifier: MIT */
/* `annot info`: the content of a recording: facts, records, losses, last words, processes, threads,
 * tracks.
 *
 * Reads every record once to find damage, and counts the records themselves. */
#include "cmd.h"
#include "info.h"
#include "pass.h"
#include "reader.h"
#include "recording.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct info_values {
    uint64_t limit;
    bool json;
};

static void count_on_track(const struct event *event, struct info_track *track)
{
    bool span = event->kind == EVENT_SPAN;
    int64_t last_ns = span && event->end_ns > event->time_ns ? event->end_ns : event->time_ns;
    track->range_count += span || event->kind == EVENT_TRACK_BEGIN;
    track->mark_count += event->kind == EVENT_TRACK_MARK;
    if (track->first_ns == 0 || event->time_ns < track->first_ns)
        track->first_ns = event->time_ns;
    if (last_ns > track->last_ns)
        track->last_ns = last_ns;
}

static void count_lost(const struct event *event, const struct trace_thread *thread,
                       struct info_counts *counts)
{
    counts->lost[event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT] += event->value.uint64;
    if (event->level == LOSS_OVERWRITTEN && thread &&
        counts->whole_ns[thread->process] < event->end_ns)
        counts->whole_ns[thread->process] = event->end_ns;
}

static void count_batch(const struct trace *trace, const struct event_batch *batch,
                        struct info_counts *counts)
{
    uint32_t track_count = trace_lane_count(trace);
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (event_has_lane(event->kind) && event->lane < track_count)
            count_on_track(event, &counts->tracks[event->lane]);
        counts->by_kind[event_known_kind(event->kind)]++;
        counts->key_values += event->arg_count;
        if (event->kind == EVENT_LOST)
            count_lost(event, trace_thread_get(trace, batch->thread), counts);
    }
}

/* Counts a sample for its thread; the table grows with the definitions. */
static int count_thread(const struct trace *trace, const struct sample *sample,
                        struct info_sample_counts *counts)
{
    static const struct info_thread_samples none;
    bool cpu = sample_role(trace_sets_get(trace), sample) == SAMPLE_ROLE_CPU;
    int64_t last_ns = sample_order_ns(sample);
    if (!trace_thread_get(trace, sample->thread))
        return 0;
    while (counts->of_thread.count <= sample->thread) {
        if (vec_push(&counts->of_thread, none) != 0)
            return -ENOMEM;
    }
    struct info_thread_samples *thread = &counts->of_thread.items[sample->thread];
    thread->cpu += cpu;
    thread->last_ns = last_ns > thread->last_ns ? last_ns : thread->last_ns;
    return 0;
}

static int count_in_set(const struct trace *trace, const struct sample *sample,
                        struct info_sample_counts *counts)
{
    static const struct info_set none;
    const struct sample_sets *sets = trace_sets_get(trace);
    const struct sample_set *set = sample_set_get(sets, sample->set);
    while (counts->sets.count <= sample->set)
        if (vec_push(&counts->sets, none) != 0)
            return -ENOMEM;
    struct info_set *entry = &counts->sets.items[sample->set];
    entry->count++;
    for (unsigned i = 0; i < set->count && i < sample->value_count; i++) {
        uint64_t value = (uint64_t)sample->values[i];
        if (value_type_get(sets, set->types[i])->sum != VALUE_SUM_LEVEL)
            entry->values[i] += value;
        else if (value > entry->values[i])
            entry->values[i] = value;
    }
    return 0;
}

/* Counts samples as they are stored. 0 or -ENOMEM. */
static int count_samples(const struct trace *trace, const struct sample_batch *batch,
                         struct info_sample_counts *counts)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        enum sample_role role = sample_role(trace_sets_get(trace), sample);
        counts->off_cpu += role == SAMPLE_ROLE_OFF_CPU;
        counts->cpu += role == SAMPLE_ROLE_CPU;
        if (count_thread(trace, sample, counts) != 0 || count_in_set(trace, sample, counts) != 0)
            return -ENOMEM;
        if (role == SAMPLE_ROLE_SHORT_WAITS) /* without a stack or range */
            continue;
        counts->in_range += sample->path != 0;
        counts->native[sample->native_end < STACK_END_COUNT ? sample->native_end : 0]++;
        counts->python[sample->python_end < STACK_END_COUNT ? sample->python_end : 0]++;
    }
    return 0;
}

/* Counts a recording while a pass reads it. */
struct counting {
    struct store_reader *reader;
    struct info_counts *events;
    struct info_sample_counts *samples;
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    const struct counting *counting = context;
    int status = store_reader_next(counting->reader, ret_batch);
    if (status > 0)
        count_batch(store_reader_trace(counting->reader), ret_batch, counting->events);
    return status;
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    const struct counting *counting = context;
    const struct pass_source stored = recording_pass_source(counting->reader);
    int status = stored.next_samples(stored.context, ret_batch);
    int error = status > 0 ? count_samples(stored.trace, ret_batch, counting->samples) : 0;
    return error ? error : status;
}

static int take(void *context, const struct item *item)
{
    const struct counting *counting = context;
    return info_gpu_take(&counting->events->gpu, store_reader_trace(counting->reader), item);
}

/* Counts records, and checks the ranges of samples against the events. */
static int count_records(struct counting *counting)
{
    struct trace *trace = store_reader_trace(counting->reader);
    struct info_counts *counts = counting->events;
    const struct pass_source source = {.trace = trace,
                                       .next_events = next_events,
                                       .next_samples = next_samples,
                                       .context = counting};
    const struct sink sink = {
        .take = take, .context = counting, .wants = WANT_EVENTS | WANT_SAMPLES | WANT_PATHS};
    counts->tracks = calloc(trace_lane_count(trace) + (size_t)1, sizeof(*counts->tracks));
    counts->whole_ns = calloc(trace_process_count(trace) + (size_t)1, sizeof(*counts->whole_ns));
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    int rc = pass && counts->tracks && counts->whole_ns ? pass_run(pass) : -ENOMEM;
    if (rc == 0)
        counting->samples->checks = pass_counts(pass)->checks;
    pass_destroy(pass);
    return rc;
}

/* 0 or -ENOMEM. */
static int print_text(const struct info_json *info)
{
    const struct info_options *options = info->options;
    info_print_facts(options, info->reader, info->counts);
    info_print_records(options, info->counts);
    info_print_damage(options, info->reader, info->counts);
    info_print_sampling(options, info->samples);
    info_print_sets(options, info->samples);
    info_print_gpu(options, info->counts);
    info_print_losses(options, info->counts, info->samples);
    info_print_refusals(options);
    info_print_notes(options);
    info_print_units(options);
    int printed = info_print_lists(options, info->counts, info->samples);
    if (printed < 0)
        cmd_fail(0, "out of memory");
    return printed;
}

/* 0 or -errno, with a message. */
static int print_json(const struct info_json *info)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    int error = out_stream_open("-", &options, &out);
    if (error == 0) {
        info_print_json(info, out);
        error = out_stream_close(out);
    }
    if (error == 0 || error == -EPIPE)
        return 0;
    cmd_fail(0, "cannot write to standard output: %s", strerror(-error));
    return error;
}

static int run_info(const struct cmd_call *call)
{
    const struct info_values *values = call->values;
    char name[RECORDING_NAME_SIZE];
    const char *path = recording_choose(call, name);
    struct store_reader *reader = path ? recording_open(path) : NULL;
    if (!reader)
        return CMD_FAILED;
    struct info_counts counts = {0};
    struct info_sample_counts samples = {0};
    int rc = count_records(&(struct counting){reader, &counts, &samples});
    if (rc < 0)
        recording_fail(path, rc);
    const struct info_options options = {
        .trace = store_reader_trace(reader),
        .path = path,
        .limit = values->limit ? values->limit : UINT64_MAX,
        .width = term_width(STDOUT_FILENO),
        .color = term_color(STDOUT_FILENO, NULL),
    };
    const struct info_json info = {&options, reader, &counts, &samples};
    int printed = values->json ? print_json(&info) : print_text(&info);
    free(counts.tracks);
    free(counts.whole_ns);
    vec_free(&counts.gpu.notes);
    vec_free(&samples.of_thread);
    vec_free(&samples.sets);
    uint32_t damaged = recording_note_damage(reader, path);
    store_reader_close(reader);
    return rc < 0 || printed < 0 || damaged ? CMD_FAILED : CMD_OK;
}

static const struct option_spec info_options[] = {
    {"limit", 'n', OPTION_COUNT, offsetof(struct info_values, limit), "N",
     "processes, threads and tracks to list; 0 lists all", "100"},
    {"json", 'j', OPTION_FLAG, offsetof(struct info_values, json), NULL,
     "all of it as one JSON object, times in nanoseconds", NULL},
    {0},
};

const struct cmd cmd_info = {
    .name = "info",
    .summary = "show facts about a recording: processes, threads, tracks, losses, damage",
    .usage = "[OPTIONS] [FILE]",
    .details = RECORDING_CHOICE_HELP
    "times are seconds from the start of the recording; before it, they are negative\n\n"
    "exit status: 0; 1 if the recording could not be read or is damaged (what is whole "
    "is\n"
    "shown); 2 wrong command line\n",
    .options = info_options,
    .values_size = sizeof(struct info_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_info,
};
