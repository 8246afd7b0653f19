/* SPDX-License-Identifier: MIT */
/* The rows of a report as one JSON object: see report_data.h. */
#include "report_data.h"

#include "json_writer.h"
#include "loss_sums.h"
#include "missing_json.h"
#include "recording.h"
#include "report_lists.h"
#include "report_rows.h"
#include "report_tasks.h"
#include "sampling_options.h"

#include <errno.h>
#include <stdlib.h>

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
    missing_json_lost(doc, "lost_by_cause", lost);
    json_doc_uint(doc, "lost_outside_count", totals->lost_outside);
    missing_json_calls(doc, options->trace);
    missing_json_refused(doc, options->trace);
}

/* What the rows lack for want of room, or for damage. */
static void put_limits(const struct report_data_options *options, struct json_doc *doc)
{
    const struct range_totals *totals = range_stats_totals(options->stats);
    const struct report_samples *samples = options->samples;
    uint64_t unreadable = selection_is_all(samples->selection)
                              ? loss_of_damage(options->reader, options->trace, event_sum(totals))
                              : 0;
    json_doc_uint(doc, "unreadable_record_count", unreadable);
    json_doc_uint(doc, "in_other_paths_count", totals->other_count);
    json_doc_uint(doc, "not_in_quantiles_count", totals->quantile_count);
    json_doc_bool(doc, "threads_are_lower_bounds", totals->threads_cut);
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
    put_limits(options, doc);
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

/* With the rows above, all time of threads and all CPU time. */
static void put_outside(const struct report_data_options *options, struct json_doc *doc)
{
    struct report_outside outside =
        report_outside(options->stats, options->samples->all.all.cpu_ns);
    json_doc_object(doc, "outside_ranges");
    json_doc_uint(doc, "self_ns", outside.self_ns);
    if (options->samples->present)
        json_doc_uint(doc, "cpu_self_ns", outside.cpu_self_ns);
    json_doc_close(doc);
}

static int put_tables(const struct report_data_options *options, struct json_doc *doc)
{
    json_doc_array(doc, "ranges");
    int error = put_rows(options, doc, RANGE_PUSHED);
    if (!error)
        error = put_rows(options, doc, RANGE_OVERLAPPING);
    if (!error)
        error = put_rows(options, doc, RANGE_TRACK);
    if (!error)
        error = put_rows(options, doc, RANGE_INHERITED);
    if (!error)
        error = put_rows(options, doc, RANGE_UNRECORDED);
    json_doc_close(doc);
    put_outside(options, doc);
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

static void put_item(void *context, const struct report_item *item)
{
    struct json_doc *doc = context;
    json_doc_object(doc, NULL);
    for (unsigned i = 0; i < item->count; i++) {
        const struct report_cell *cell = &item->cells[i];
        if (cell->value.is_text)
            json_doc_text(doc, cell->name, cell->value.text);
        else if (cell->value.is_integer)
            json_doc_int(doc, cell->name, cell->value.integer);
        else
            json_doc_uint(doc, cell->name, cell->value.count);
    }
    json_doc_close(doc);
}

static void put_list(const struct report_data_options *options, struct json_doc *doc,
                     enum report_list list, const char *name)
{
    json_doc_array(doc, name);
    report_list_each(options, list, put_item, doc);
    json_doc_close(doc);
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
    json_doc_uint(doc, "inherited_cpu_ns", range_stats_totals(options->stats)->cpu_inherited_ns);
    json_doc_uint(doc, "checked_count", samples->checks.checked);
    json_doc_uint(doc, "at_edge_count", samples->checks.at_edge);
    json_doc_uint(doc, "unsure_count", samples->checks.unsure);
    json_doc_uint(doc, "contradicted_count", samples->checks.contradicted);
    json_doc_uint(doc, "late_count", samples->late);
    missing_json_facts(doc, options->trace, FACT_LOSS, "lost");
    missing_json_facts(doc, options->trace, FACT_NOTE, "notes");
    json_doc_text(doc, "inside_range", samples->range ? samples->range : "");
    json_doc_uint(doc, "inside_cpu_ns", samples->inside.all.cpu_ns);
    json_doc_close(doc);
    put_list(options, doc, REPORT_THREADS, "threads");
    put_list(options, doc, REPORT_FUNCTIONS, "functions");
    put_list(options, doc, REPORT_WAITS, "waits");
    put_list(options, doc, REPORT_PLACES, "wait_places");
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
