/* SPDX-License-Identifier: MIT */
/* `annot info --json`: all content of the text as one object, with all entries of its lists,
 * including those that the text omits as minor. Moments are nanoseconds since the recording's
 * start, sizes bytes; names carry the unit. */

#include "info.h"
#include "reader.h"
#include "volumes.h"

#include "losses.h"
#include "missing.h"
#include "recording.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { LABEL_SIZE = 4096 };

static const char *text_of(const struct info_json *info, uint32_t string)
{
    return trace_string(info->options->trace, string)->bytes;
}

static void put_text(const struct info_json *info, struct json_doc *doc, const char *key,
                     uint32_t string)
{
    if (string)
        json_doc_text(doc, key, text_of(info, string));
}

/* ---- The file and the session ---------------------------------------------------------------- */

/* The files of a recording with several volumes. */
static void put_volumes(const struct info_json *info, struct json_doc *doc)
{
    struct store_volume volume;
    if (!store_reader_volume(info->reader, 1, &volume))
        return;
    json_doc_array(doc, "volumes");
    for (uint32_t i = 0; store_reader_volume(info->reader, i, &volume); i++) {
        json_doc_object(doc, NULL);
        json_doc_text(doc, "path", volume.path);
        json_doc_uint(doc, "number", volume.number);
        json_doc_uint(doc, "file_bytes", volume.file_bytes);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_file(const struct info_json *info, struct json_doc *doc)
{
    struct store_info file;
    char format[32];
    store_reader_info(info->reader, &file);
    snprintf(format, sizeof(format), "%u.%u", file.major, file.minor);
    json_doc_text(doc, "recording", info->options->path);
    put_volumes(info, doc);
    json_doc_uint(doc, "file_bytes", file.file_bytes);
    json_doc_uint(doc, "uncompressed_bytes", file.raw_bytes);
    json_doc_uint(doc, "chunk_count", file.chunk_count);
    json_doc_text(doc, "format", format);
    json_doc_bool(doc, "complete", file.complete && !trace_unwatched(info->options->trace));
}

static void put_status(struct json_doc *doc, int status)
{
    if (status == -1)
        return;
    if (WIFEXITED(status))
        json_doc_int(doc, "command_exit_status", WEXITSTATUS(status));
    else
        json_doc_int(doc, "command_signal", WTERMSIG(status));
}

static void put_lines(struct json_doc *doc, const char *key, const char *lines)
{
    json_doc_array(doc, key);
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        char line[4096];
        struct text text = text_init(line, sizeof(line));
        text_add(&text, lines, length);
        json_doc_text(doc, NULL, line);
        lines += length + (lines[length] == '\n');
    }
    json_doc_close(doc);
}

static void put_filters(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    json_doc_array(doc, "filters");
    for (uint32_t i = 0; i < trace_filter_count(trace); i++) {
        const struct trace_filter *filter = trace_filter_get(trace, i);
        json_doc_object(doc, NULL);
        json_doc_text(doc, "rules", text_of(info, filter->rules));
        json_doc_int(doc, "time_ns", filter->time_ns - trace_begin_ns(trace));
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_hosts(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    char id[TRACE_BOOT_ID_SIZE];
    if (trace_host_count(trace) == 0)
        return;
    json_doc_array(doc, "hosts");
    for (uint32_t i = 0; i < trace_host_count(trace); i++) {
        const struct trace_host *host = trace_host_get(trace, i);
        json_doc_object(doc, NULL);
        json_doc_text(doc, "name", text_of(info, host->name));
        json_doc_text(doc, "boot_id", trace_boot_id(host, id));
        json_doc_int(doc, "offset_ns", host->offset_ns);
        json_doc_int(doc, "error_ns", host->error_ns);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_session(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    const struct trace_session *session = trace_session_get(trace);
    char id[24];
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)session->id);
    json_doc_text(doc, "session", id);
    put_text(info, doc, "version", session->annot_version);
    json_doc_bool(doc, "recovered", session->recovered);
    put_text(info, doc, "command", session->command);
    put_status(doc, session->command_status);
    put_text(info, doc, "host", session->hostname);
    put_text(info, doc, "kernel", session->kernel);
    put_hosts(info, doc);
    put_text(info, doc, "clock", session->clock);
    json_doc_int(doc, "begin_monotonic_ns", session->begin_ns);
    /* A string: as a number it would lose its last digits in some readers. */
    char begin[32];
    snprintf(begin, sizeof(begin), "%lld", (long long)session->begin_realtime_ns);
    json_doc_text(doc, "begin_realtime_ns", begin);
    if (session->end_ns > session->begin_ns)
        json_doc_int(doc, "duration_ns", session->end_ns - session->begin_ns);
    json_doc_uint(doc, "shared_memory_peak_bytes", session->peak_bytes);
    json_doc_uint(doc, "overwriting_process_count", trace_fact_value(trace, TRACE_FACT_OVERWRITE));
    json_doc_uint(doc, "waiting_process_count", trace_fact_value(trace, TRACE_FACT_WAIT));
    if (session->parent_id) {
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)session->parent_id);
        json_doc_text(doc, "inside_session", id);
    }
    put_lines(doc, "nested", text_of(info, session->nested));
    put_filters(info, doc);
}

/* ---- Counts and losses ----------------------------------------------------------------------- */

static void put_records(const struct info_json *info, struct json_doc *doc)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_PUSH] = "push",
        [EVENT_POP] = "pop",
        [EVENT_START] = "start",
        [EVENT_END] = "end",
        [EVENT_MARK] = "mark",
        [EVENT_COUNTER] = "counter",
        [EVENT_LOST] = "gap",
        [EVENT_EDGE] = "off_on",
        [EVENT_FLOW_BEGIN] = "flow_begin",
        [EVENT_FLOW_STEP] = "flow_step",
        [EVENT_FLOW_END] = "flow_end",
        [EVENT_TRACK_BEGIN] = "track_begin",
        [EVENT_TRACK_END] = "track_end",
        [EVENT_TRACK_MARK] = "track_mark",
        [EVENT_TRACK_HIDDEN] = "hidden_begin",
        [EVENT_SPAN] = "span",
    };
    json_doc_uint(doc, "event_count", info_record_count(info->counts));
    json_doc_object(doc, "records_by_kind");
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++)
        if (info->counts->by_kind[kind])
            json_doc_uint(doc, names[kind], info->counts->by_kind[kind]);
    if (info->counts->key_values)
        json_doc_uint(doc, "key_value", info->counts->key_values);
    json_doc_close(doc);
}

static void put_losses(const struct info_json *info, struct json_doc *doc)
{
    uint64_t lost[LOSS_COUNT];
    const struct trace *trace = info->options->trace;
    json_doc_uint(doc, "lost_count", loss_sums(trace, info->counts->lost, lost));
    missing_json_lost(doc, "lost_by_cause", lost);
    json_doc_uint(doc, "unreadable_record_count",
                  loss_of_damage(info->reader, trace, info_record_count(info->counts)));
    missing_json_calls(doc, trace);
}

static void put_damage(const struct info_json *info, struct json_doc *doc)
{
    uint32_t count = store_reader_damage_count(info->reader);
    char text[STORE_DAMAGE_TEXT_SIZE];
    json_doc_bool(doc, "cut", recording_is_cut(info->reader));
    json_doc_array(doc, "damage");
    for (uint32_t i = 0; i < count; i++) {
        const struct store_damage *damage = store_reader_damage(info->reader, i);
        json_doc_object(doc, NULL);
        json_doc_uint(doc, "offset_bytes", damage->offset);
        json_doc_uint(doc, "length_bytes", damage->length);
        store_damage_text(damage, text);
        json_doc_text(doc, "reason", damage->missing_count ? text : damage->reason);
        json_doc_text(doc, "path", damage->path);
        json_doc_bool(doc, "missing", damage->missing_count > 0);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

/* ---- Sampling -------------------------------------------------------------------------------- */

static void put_ends(struct json_doc *doc, const char *key, const uint64_t ends[STACK_END_COUNT])
{
    json_doc_object(doc, key);
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT; end++)
        if (ends[end])
            json_doc_uint(doc, stack_end_name(end), ends[end]);
    json_doc_close(doc);
}

/* The sums of values that add up, the maximum of levels. */
static void put_sets(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    json_doc_array(doc, "sample_sets");
    for (unsigned number = 0; number < info->samples->sets.count; number++) {
        const struct info_set *counts = &info->samples->sets.items[number];
        const struct sample_set *set = sample_set_get(trace_sets_get(trace), number);
        char name[16];
        if (counts->count == 0)
            continue;
        json_doc_object(doc, NULL);
        json_doc_text(doc, "set", trace_set_name(trace, number, name));
        json_doc_uint(doc, "sample_count", counts->count);
        json_doc_array(doc, "values");
        for (unsigned i = 0; i < set->count; i++) {
            bool level =
                value_type_get(trace_sets_get(trace), set->types[i])->sum == VALUE_SUM_LEVEL;
            json_doc_object(doc, NULL);
            json_doc_text(doc, "value", trace_value_name(trace, set->types[i], name));
            json_doc_text(doc, "unit", trace_value_unit(trace, set->types[i]));
            json_doc_uint(doc, level ? "max" : "sum", counts->values[i]);
            json_doc_close(doc);
        }
        json_doc_close(doc);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}

static void put_sampling(const struct info_json *info, struct json_doc *doc)
{
    const struct trace *trace = info->options->trace;
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    json_doc_object(doc, "sampling");
    json_doc_text(doc, "way", sampling_rung_text(sampling->rung));
    json_doc_uint(doc, "frequency_hz", sampling->frequency_hz);
    if (sampling->mixed) {
        json_doc_uint(doc, "highest_frequency_hz", sampling_fastest_hz(sampling));
    } else if (sampling->first_hz) {
        json_doc_uint(doc, "first_frequency_hz", sampling->first_hz);
        json_doc_bool(doc, "slowed", sampling->slowed);
    }
    json_doc_bool(doc, "off_cpu", sampling->off_cpu);
    json_doc_int(doc, "off_cpu_threshold_ns", sampling->off_cpu_threshold_ns);
    put_text(info, doc, "not_better_because", sampling->reason);
    put_text(info, doc, "remedy", sampling->hint);
    json_doc_uint(doc, "sample_count", info->samples->cpu);
    json_doc_uint(doc, "off_cpu_count", info->samples->off_cpu);
    json_doc_uint(doc, "in_range_count", info->samples->in_range);
    json_doc_uint(doc, "checked_count", info->samples->checks.checked);
    json_doc_uint(doc, "at_edge_count", info->samples->checks.at_edge);
    json_doc_uint(doc, "unsure_count", info->samples->checks.unsure);
    json_doc_uint(doc, "contradicted_count", info->samples->checks.contradicted);
    put_ends(doc, "native_stacks", info->samples->native);
    put_ends(doc, "python_stacks", info->samples->python);
    missing_json_facts(doc, trace, FACT_COUNT, "counts");
    missing_json_facts(doc, trace, FACT_LOSS, "lost");
    missing_json_facts(doc, trace, FACT_NOTE, "notes");
    json_doc_close(doc);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Relative to the recording's start; omitted if unknown. */
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

/* Totals of a process's threads. */
struct sums {
    uint32_t threads;
    uint64_t samples;
};

/* Only for processes that used queues. */
static void json_queued(struct json_doc *doc, const struct trace_process *process)
{
    static const char *const keys[QUEUED_COUNT] = {
        [QUEUED_LAUNCHED] = "launched",         [QUEUED_REPORTED] = "reported",
        [QUEUED_DROPPED] = "dropped_by_driver", [QUEUED_UNTIMED] = "without_times",
        [QUEUED_MISTIMED] = "impossible_times", [QUEUED_ACAUSAL] = "before_launch"};
    uint64_t any = 0;
    for (unsigned kind = 0; kind < QUEUED_COUNT; kind++)
        any |= process->queued[kind];
    if (!any)
        return;
    json_doc_object(doc, "queue_activities");
    for (unsigned kind = 0; kind < QUEUED_COUNT; kind++)
        json_doc_uint(doc, keys[kind], process->queued[kind]);
    json_doc_close(doc);
}

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
    put_moment(info, doc, "begin_ns", process->start_ns ? process->start_ns : process->fork_ns);
    put_moment(info, doc, "end_ns", process->end_ns);
    trace_process_end_label(trace, ordinal, label, sizeof(label));
    json_doc_text(doc, "ended", label);
    json_doc_uint(doc, "thread_count", sums[ordinal].threads);
    json_doc_uint(doc, "sample_count", sums[ordinal].samples);
    json_doc_uint(doc, "event_count", process->event_count);
    json_doc_uint(doc, "shared_memory_peak_bytes", process->peak_bytes);
    json_queued(doc, process);
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
    json_doc_uint(doc, "event_count", thread->event_count);
    missing_json_lost(doc, "lost_by_cause", thread->lost);
    json_doc_close(doc);
}

static void put_track(const struct info_json *info, struct json_doc *doc, uint32_t ordinal)
{
    const struct trace *trace = info->options->trace;
    const struct trace_lane *track = trace_lane_get(trace, ordinal);
    char label[LABEL_SIZE];
    json_doc_object(doc, NULL);
    trace_lane_path(trace, ordinal, label, sizeof(label));
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

static void put_lists_of(const struct info_json *info, struct json_doc *doc)
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
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        put_track(info, doc, i);
    json_doc_close(doc);
}

/* ---- The object ------------------------------------------------------------------------------ */

void info_print_json(const struct info_json *info, struct out_stream *out)
{
    struct json_doc doc = {.out = out};
    json_doc_object(&doc, NULL);
    put_file(info, &doc);
    put_session(info, &doc);
    put_records(info, &doc);
    put_damage(info, &doc);
    put_sampling(info, &doc);
    put_sets(info, &doc);
    put_losses(info, &doc);
    info_put_gpu(info, &doc);
    put_lists_of(info, &doc);
    json_doc_close(&doc);
    out_text(out, "\n");
}
