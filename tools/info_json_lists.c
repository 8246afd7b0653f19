/* SPDX-License-Identifier: MIT */
/* The lists of info_json.h. Every entry is there: what the text leaves out as minor, too. */
#include "info_json.h"

#include "losses.h"

#include <stdlib.h>

enum { LABEL_SIZE = 4096 };

static const char *text_of(const struct info_json *info, uint32_t string)
{
    return trace_string(info->options->trace, string)->bytes;
}

/* Since the recording's begin; nothing for what is not known. */
static void put_moment(const struct info_json *info, struct json_doc *doc, const char *key,
                       int64_t time_ns)
{
    if (time_ns)
        json_doc_int(doc, key, time_ns - trace_begin_ns(info->options->trace));
}

static void put_units(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    json_doc_array(doc, "units");
    for (uint32_t i = 0; i < trace_unit_count(trace); i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        json_doc_object(doc, NULL);
        json_doc_text(doc, "domain", text_of(info, unit->domain));
        json_doc_text(doc, "counter", text_of(info, unit->counter));
        json_doc_text(doc, "unit", text_of(info, unit->unit));
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_last_word(const struct info_json *info, struct json_doc *doc,
                          const struct trace_process *process)
{
    const struct trace_thread *thread =
        trace_thread_get(info->options->trace, process->note_thread - 1);
    if (!process->note)
        return;
    json_doc_object(doc, "last_word");
    json_doc_text(doc, "text", text_of(info, process->note));
    put_moment(info, doc, "time_ns", process->note_ns);
    if (thread)
        json_doc_int(doc, "tid", thread->tid);
    json_doc_close(doc);
}

/* What the threads of a process come to. */
struct sums {
    uint32_t threads;
    uint64_t samples;
};

static void put_process(const struct info_json *info, struct json_doc *doc, uint32_t ordinal,
                        const struct sums *sums)
{
    const struct trace *trace = info->options->trace;
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[LABEL_SIZE];
    json_doc_object(doc, NULL);
    json_doc_uint(doc, "process_index", ordinal);
    json_doc_int(doc, "pid", process->pid);
    trace_process_label(trace, ordinal, label, sizeof(label));
    json_doc_text(doc, "process", label);
    json_doc_int(doc, "parent_pid", process->ppid);
    if (process->parent >= 0)
        json_doc_int(doc, "parent_index", process->parent);
    json_doc_bool(doc, "forked", process->forked);
    json_doc_uint(doc, "uid", process->uid);
    json_doc_text(doc, "command", text_of(info, process->cmdline));
    put_moment(info, doc, "start_ns", process->start_ns ? process->start_ns : process->fork_ns);
    put_moment(info, doc, "end_ns", process->end_ns);
    trace_process_end_label(trace, ordinal, label, sizeof(label));
    json_doc_text(doc, "ended", label);
    json_doc_uint(doc, "thread_count", sums[ordinal].threads);
    json_doc_uint(doc, "sample_count", sums[ordinal].samples);
    json_doc_uint(doc, "record_count", process->event_count);
    json_doc_uint(doc, "shared_memory_peak_bytes", process->peak_bytes);
    missing_json_lost(doc, "lost_by_cause", process->lost);
    if (info->counts->whole_ns)
        put_moment(info, doc, "overwritten_until_ns", info->counts->whole_ns[ordinal]);
    put_last_word(info, doc, process);
    json_doc_close(doc);
}

static void put_processes(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    uint32_t count = trace_process_count(trace);
    struct sums *sums = calloc((size_t)count + 1, sizeof(*sums));
    uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
    bool ordered = sums && order && trace_process_order(trace, order) == 0;
    for (uint32_t i = 0; ordered && i < trace_thread_count(trace); i++) {
        uint32_t process = trace_thread_get(trace, i)->process;
        if (process >= count)
            continue;
        sums[process].threads++;
        if (i < info->samples->of_thread.count)
            sums[process].samples += info->samples->of_thread.items[i].cpu;
    }
    json_doc_array(doc, "processes");
    for (uint32_t i = 0; ordered && i < count; i++)
        put_process(info, doc, order[i], sums);
    json_doc_close(doc);
    free(sums);
    free(order);
}

static void put_thread(const struct info_json *info, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace *trace = info->options->trace;
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = trace_process_get(trace, thread->process);
    struct info_thread_samples samples = {0};
    char label[LABEL_SIZE];
    if (ordinal < info->samples->of_thread.count)
        samples = info->samples->of_thread.items[ordinal];
    json_doc_object(doc, NULL);
    json_doc_uint(doc, "thread_index", ordinal);
    json_doc_int(doc, "tid", thread->tid);
    trace_thread_label(trace, ordinal, label, sizeof(label));
    json_doc_text(doc, "thread", label);
    json_doc_uint(doc, "process_index", thread->process);
    if (process)
        json_doc_int(doc, "pid", process->pid);
    put_moment(info, doc, "first_ns", thread->first_ns);
    put_moment(info, doc, "last_ns",
               thread->last_ns > samples.last_ns ? thread->last_ns : samples.last_ns);
    json_doc_uint(doc, "sample_count", samples.cpu);
    json_doc_uint(doc, "record_count", thread->event_count);
    missing_json_lost(doc, "lost_by_cause", thread->lost);
    json_doc_close(doc);
}

static void put_track(const struct info_json *info, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace *trace = info->options->trace;
    const struct trace_track *track = trace_track_get(trace, ordinal);
    char label[LABEL_SIZE];
    json_doc_object(doc, NULL);
    trace_track_path(trace, ordinal, label, sizeof(label));
    json_doc_text(doc, "track", label);
    json_doc_hex(doc, "track_id", track->id);
    json_doc_uint(doc, "process_index", track->process);
    if (info->counts->tracks) {
        const struct info_track *counts = &info->counts->tracks[ordinal];
        json_doc_uint(doc, "range_count", counts->range_count);
        json_doc_uint(doc, "mark_count", counts->mark_count);
        put_moment(info, doc, "first_ns", counts->first_ns);
        put_moment(info, doc, "last_ns", counts->last_ns);
    }
    json_doc_close(doc);
}

void info_json_lists(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    missing_json_refused(doc, trace);
    put_units(info, doc);
    put_processes(info, doc);
    json_doc_array(doc, "threads");
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        put_thread(info, doc, i);
    json_doc_close(doc);
    json_doc_array(doc, "tracks");
    for (uint32_t i = 0; i < trace_track_count(trace); i++)
        put_track(info, doc, i);
    json_doc_close(doc);
}
