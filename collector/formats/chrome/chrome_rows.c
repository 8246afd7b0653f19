/* SPDX-License-Identifier: MIT */
/* Rows of threads that are made of samples: flame charts, and the states beside them. The format
 * has rows for threads only, so each is a thread of its own; viewers that go by sort indices put it
 * below its thread. */
#include "chrome_parts.h"

#include "call_label.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct chrome_row *describe_row(struct chrome_rows *rows, uint32_t thread,
                                       enum chrome_row_kind kind)
{
    static const char *const names[] = {
        [CHROME_ROW_STACKS] = "stacks", [CHROME_ROW_STATE] = "run state"};
    const struct trace *trace = rows->writer->trace;
    struct chrome_row *row = &rows->rows[CHROME_ROW_KINDS * (size_t)thread + kind];
    char label[EXPORT_LABEL_SIZE + 16];
    uint32_t process = trace_thread_get(trace, thread)->process;
    bool known = process < trace_process_count(trace);
    size_t length = export_row_label(rows->ids, trace, thread, label);
    snprintf(label + length, sizeof(label) - length, ": %s", names[kind]);
    snprintf(row->place, sizeof(row->place), ",\"pid\":%u,\"tid\":%u",
             known ? rows->ids->pids[process] : rows->ids->tids[thread],
             rows->ids->next_synthetic++);
    chrome_put_metadata(rows->writer, row->place, "thread_name",
                        &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    chrome_put_metadata(
        rows->writer, row->place, "thread_sort_index",
        &(struct fact){.name = "sort_index",
                       .kind = VALUE_UINT64,
                       .value = {.uint64 = chrome_row_rank(rows->ids, thread, kind)}});
    return row;
}

/* What stands in the events of a row beside name and time. */
static const char *place_of(struct chrome_rows *rows, uint32_t thread, enum chrome_row_kind kind)
{
    struct chrome_row *row = &rows->rows[CHROME_ROW_KINDS * (size_t)thread + kind];
    return row->place[0] ? row->place : describe_row(rows, thread, kind)->place;
}

static void put_place(struct chrome_rows *rows, const char *place, int64_t time_ns)
{
    out_text(rows->writer->out, place);
    chrome_micros(rows->writer, "ts", time_ns - rows->writer->origin_ns);
}

/* ---- Flame charts: begins and ends in the order of the chart --------------------------------- */

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct chrome_rows *rows = context;
    char label[CALL_LABEL_SIZE];
    const char *place = place_of(rows, event->thread, CHROME_ROW_STACKS);
    flame_chart_label(rows->writer->trace, event->label, rows->prefixes, label, sizeof(label));
    chrome_begin_text(rows->writer, 'B', label);
    put_place(rows, place, event->time_ns);
    chrome_end(rows->writer);
    return 0;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    struct chrome_rows *rows = context;
    chrome_begin_bare(rows->writer, 'E');
    put_place(rows, place_of(rows, event->thread, CHROME_ROW_STACKS), event->time_ns);
    chrome_end(rows->writer);
    return 0;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* One of the colours that the format has names for. */
static const char *color_of(const struct thread_stretch *stretch)
{
    if (stretch->state == THREAD_RUNNING)
        return "thread_state_running";
    if (stretch->state == THREAD_RUNNABLE)
        return "thread_state_runnable";
    bool disk = stretch->wait->reason == WAIT_DISK || stretch->wait->reason == WAIT_PAGE_FAULT;
    return disk ? "thread_state_iowait" : "thread_state_sleeping";
}

static int put_stretch(void *context, const struct thread_stretch *stretch)
{
    struct chrome_rows *rows = context;
    const char *place = place_of(rows, stretch->thread, CHROME_ROW_STATE);
    chrome_begin_text(rows->writer, 'X', thread_stretch_name(stretch));
    put_place(rows, place, stretch->begin_ns);
    chrome_micros(rows->writer, "dur", stretch->end_ns - stretch->begin_ns);
    chrome_text(rows->writer, "cname", color_of(stretch));
    if (stretch->wait && (stretch->wait->flags & SAMPLE_UNFINISHED))
        chrome_argument(
            rows->writer,
            &(struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = {.uint64 = 1}});
    chrome_end(rows->writer);
    return 0;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int take_ordered(void *context, const struct sample *sample)
{
    struct chrome_rows *rows = context;
    int error = rows->has_chart ? flame_chart_add(&rows->chart, sample) : 0;
    return error || !rows->has_states ? error : thread_states_add(&rows->states, sample);
}

int chrome_rows_init(struct chrome_rows *rows, struct chrome_writer *writer, struct export_ids *ids,
                     const struct export_job *job)
{
    const struct trace *trace = writer->trace;
    const struct flame_chart_sink chart_sink = {on_begin, on_end, rows};
    const struct thread_states_sink states_sink = {put_stretch, rows};
    const struct export_options *options = job->options;
    *rows = (struct chrome_rows){.writer = writer, .ids = ids, .prefixes = options->strip_prefix};
    rows->has_chart = !options->no_flame_chart && stacks_stack_count(trace_stacks_get(trace)) > 1;
    rows->has_states = trace_sampling_get(trace)->off_cpu;
    rows->rows = calloc(CHROME_ROW_KINDS * (writer->thread_count + 1ull), sizeof(*rows->rows));
    int error = flame_chart_init(&rows->chart, job, &chart_sink);
    if (!error)
        error = thread_states_init(&rows->states, trace, job->selection, &states_sink);
    if (!error)
        error = sample_order_init(&rows->order, trace, take_ordered, rows);
    return rows->rows ? error : -ENOMEM;
}

int chrome_rows_add(struct chrome_rows *rows, const struct sample *sample)
{
    return sample_order_add(&rows->order, sample);
}

int chrome_rows_finish(struct chrome_rows *rows)
{
    int error = sample_order_finish(&rows->order);
    if (!error && rows->has_chart)
        error = flame_chart_finish(&rows->chart);
    return error || !rows->has_states ? error : thread_states_finish(&rows->states);
}

void chrome_rows_fini(struct chrome_rows *rows)
{
    sample_order_fini(&rows->order);
    flame_chart_fini(&rows->chart);
    thread_states_fini(&rows->states);
    free(rows->rows);
    *rows = (struct chrome_rows){0};
}
