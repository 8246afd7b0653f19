/* SPDX-License-Identifier: MIT */
/* The rows of a report as one JSON object: see report_data.h. */
#include "report_data.h"

#include "call_label.h"
#include "json_doc.h"
#include "loss_sums.h"
#include "recording.h"
#include "report_rows.h"
#include "report_tasks.h"
#include "sampling_options.h"

#include <errno.h>
#include <stdlib.h>

enum { LABEL_SIZE = 8192 };

static const char *text_of(const struct trace *trace, uint32_t string)
{
    return trace_string(trace, string)->bytes;
}

/* ---- The recording --------------------------------------------------------------------------- */

static uint64_t event_sum(const struct range_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < EVENT_KIND_COUNT; kind++)
        sum += event_is_record((uint8_t)kind) ? totals->event_count[kind] : 0;
    return sum;
}

static void put_lost(const struct report_data_options *options, struct json_doc *doc)
{
    const struct range_totals *totals = range_stats_totals(options->stats);
    uint64_t lost[LOSS_COUNT];
    json_doc_uint(doc, "lost_count", loss_sums(options->trace, totals->lost, lost));
    json_doc_object(doc, "lost_by_cause");
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (lost[cause])
            json_doc_uint(doc, loss_name((enum loss)cause), lost[cause]);
    json_doc_close(doc);
    json_doc_uint(doc, "lost_outside_count", totals->lost_outside);
}

static void put_recording(const struct report_data_options *options, struct json_doc *doc)
{
    const struct range_totals *totals = range_stats_totals(options->stats);
    const struct trace *trace = options->trace;
    char only[1024];
    json_doc_text(doc, "recording", options->path);
    json_doc_text(doc, "command", text_of(trace, trace_session_get(trace)->command));
    selection_describe(options->samples->selection->values, only, sizeof(only));
    json_doc_text(doc, "only", only);
    json_doc_int(doc, "wall_ns", totals->wall_ns);
    json_doc_uint(doc, "process_count", trace_process_count(trace));
    json_doc_uint(doc, "thread_count", trace_thread_count(trace));
    json_doc_uint(doc, "event_count", event_sum(totals));
    json_doc_uint(doc, "in_ranges_ns", totals->covered_ns);
    json_doc_uint(doc, "thread_time_ns", totals->thread_ns);
    json_doc_uint(doc, "orphan_end_count", totals->orphan_count);
    put_lost(options, doc);
    json_doc_uint(doc, "damaged_part_count", store_reader_damage_count(options->reader));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_owner(const struct report_row *row, struct json_doc *doc)
{
    if (row->process) {
        json_doc_int(doc, "pid", row->process->pid);
        json_doc_text(doc, "process", row->process_label);
    }
    if (row->thread) {
        json_doc_int(doc, "tid", row->thread->tid);
        json_doc_text(doc, "thread", row->thread_label);
    }
}

static int put_rows(const struct report_data_options *options, struct json_doc *doc,
                    enum range_kind kind)
{
    struct report_row row;
    uint32_t *rows = NULL;
    int64_t count = report_rows(options, kind, &rows);
    for (int64_t i = 0; i < count; i++) {
        report_row_init(&row, options, rows[i]);
        json_doc_object(doc, NULL);
        if (kind != RANGE_MARK && kind != RANGE_COUNTER)
            json_doc_text(doc, "kind", report_kind_name(kind));
        json_doc_text(doc, kind == RANGE_MARK || kind == RANGE_COUNTER ? "name" : "path",
                      row.label);
        put_owner(&row, doc);
        for (unsigned field = 0; field < REPORT_FIELDS; field++) {
            if (!report_field_is_of(options, field, kind))
                continue;
            struct report_value value = report_value(options, rows[i], field);
            if (value.is_text)
                json_doc_text(doc, report_field_name(field), value.text);
            else if (value.is_double)
                json_doc_double(doc, report_field_name(field), value.number);
            else
                json_doc_uint(doc, report_field_name(field), value.count);
        }
        json_doc_close(doc);
    }
    free(rows);
    return count < 0 ? (int)count : 0;
}

static int put_tables(const struct report_data_options *options, struct json_doc *doc)
{
    json_doc_array(doc, "ranges");
    int error = put_rows(options, doc, RANGE_PUSHED);
    if (!error)
        error = put_rows(options, doc, RANGE_OVERLAPPING);
    if (!error)
        error = put_rows(options, doc, RANGE_TRACK);
    json_doc_close(doc);
    json_doc_array(doc, "marks");
    if (!error)
        error = put_rows(options, doc, RANGE_MARK);
    json_doc_close(doc);
    json_doc_array(doc, "counters");
    if (!error)
        error = put_rows(options, doc, RANGE_COUNTER);
    json_doc_close(doc);
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static const char *const frame_kinds[] = {
    [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
    [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
    [FRAME_NOTE] = "note",
};

static void put_frame(const struct report_data_options *options, struct json_doc *doc,
                      uint32_t ordinal)
{
    const struct trace *trace = options->trace;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), ordinal);
    char label[CALL_LABEL_SIZE];
    unsigned kind = frame->kind < sizeof(frame_kinds) / sizeof(*frame_kinds) ? frame->kind : 0;
    call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, label, sizeof(label));
    json_doc_text(doc, "function", label);
    json_doc_text(doc, "kind", frame_kinds[kind]);
    json_doc_text(doc, "module", text_of(trace, frame->module));
}

static void put_functions(const struct report_data_options *options, struct json_doc *doc)
{
    const struct function_row *rows;
    bool total = options->sort == RANGE_COLUMN_TOTAL;
    uint32_t count = frame_stats_sort(options->samples->frames,
                                      total ? FRAME_ORDER_TOTAL : FRAME_ORDER_SELF, &rows);
    for (uint32_t i = 0; i < count; i++) {
        json_doc_object(doc, NULL);
        put_frame(options, doc, rows[i].frame);
        json_doc_uint(doc, "cpu_self_ns", rows[i].self_ns);
        json_doc_uint(doc, "cpu_python_ns", rows[i].python_ns);
        json_doc_uint(doc, "cpu_total_ns", rows[i].total_ns);
        json_doc_close(doc);
    }
}

static void put_waits(const struct report_data_options *options, struct json_doc *doc)
{
    const struct wait_share *waits = options->samples->inside.waits;
    for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++) {
        if (!waits[reason].count)
            continue;
        json_doc_object(doc, NULL);
        json_doc_text(doc, "reason", wait_reason_name((enum wait_reason)reason));
        json_doc_uint(doc, "count", waits[reason].count);
        json_doc_uint(doc, "total_ns", waits[reason].blocked_ns);
        json_doc_uint(doc, "max_ns", waits[reason].max_ns);
        json_doc_close(doc);
    }
}

static void put_places(const struct report_data_options *options, struct json_doc *doc)
{
    const struct wait_place *places;
    uint32_t count = wait_places_sort(options->samples->places, &places);
    for (uint32_t i = 0; i < count; i++) {
        json_doc_object(doc, NULL);
        put_frame(options, doc, places[i].frame);
        json_doc_text(doc, "reason", wait_reason_name((enum wait_reason)places[i].reason));
        json_doc_uint(doc, "count", places[i].count);
        json_doc_uint(doc, "total_ns", places[i].blocked_ns);
        json_doc_uint(doc, "max_ns", places[i].max_ns);
        json_doc_close(doc);
    }
}

/* By process and thread: a recording of many short processes has many rows. */
static void put_threads(const struct report_data_options *options, struct json_doc *doc)
{
    const struct sample_stats *all = &options->samples->all;
    char label[LABEL_SIZE];
    for (uint32_t i = 0; i < all->thread_count; i++) {
        const struct thread_share *share = &all->threads[i];
        const struct trace_thread *thread = trace_thread_get(options->trace, i);
        const struct trace_process *process = trace_process_get(options->trace, thread->process);
        if (share->sample_count + share->runnable_ns + share->blocked_ns == 0 || !process)
            continue;
        json_doc_object(doc, NULL);
        json_doc_int(doc, "pid", process->pid);
        trace_process_label(options->trace, thread->process, label, sizeof(label));
        json_doc_text(doc, "process", label);
        json_doc_int(doc, "tid", thread->tid);
        trace_thread_label(options->trace, i, label, sizeof(label));
        json_doc_text(doc, "thread", label);
        json_doc_uint(doc, "cpu_ns", share->cpu_ns);
        json_doc_uint(doc, "sample_count", share->sample_count);
        json_doc_uint(doc, "runnable_ns", share->runnable_ns);
        json_doc_uint(doc, "blocked_ns", share->blocked_ns);
        json_doc_uint(doc, "gc_ns", share->gc_ns);
        json_doc_uint(doc, "gil_ns", share->gil_ns);
        json_doc_close(doc);
    }
}

static void put_samples(const struct report_data_options *options, struct json_doc *doc)
{
    const struct trace_sampling *sampling = trace_sampling_get(options->trace);
    const struct report_samples *samples = options->samples;
    json_doc_object(doc, "sampling");
    json_doc_text(doc, "way", sampling_rung_text(sampling->rung));
    json_doc_uint(doc, "frequency_hz", sampling->frequency_hz);
    json_doc_bool(doc, "off_cpu", samples->off_cpu);
    json_doc_uint(doc, "sample_count", samples->all.all.sample_count);
    json_doc_uint(doc, "cpu_ns", samples->all.all.cpu_ns);
    json_doc_text(doc, "inside_range", samples->range ? samples->range : "");
    json_doc_uint(doc, "inside_cpu_ns", samples->inside.all.cpu_ns);
    json_doc_close(doc);
    json_doc_array(doc, "threads");
    put_threads(options, doc);
    json_doc_close(doc);
    json_doc_array(doc, "functions");
    if (samples->present)
        put_functions(options, doc);
    json_doc_close(doc);
    json_doc_array(doc, "waits");
    put_waits(options, doc);
    json_doc_close(doc);
    json_doc_array(doc, "wait_places");
    if (samples->present)
        put_places(options, doc);
    json_doc_close(doc);
}

int report_json(const struct report_data_options *options, struct out_stream *out)
{
    struct json_doc doc = {.out = out};
    json_doc_object(&doc, NULL);
    put_recording(options, &doc);
    int error = put_tables(options, &doc);
    report_tasks_json(&doc, options->trace, options->tasks);
    put_samples(options, &doc);
    json_doc_close(&doc);
    out_text(out, "\n");
    return error;
}
