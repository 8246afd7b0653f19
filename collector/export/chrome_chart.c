/* SPDX-License-Identifier: MIT */
/* Begins and ends in the order of the chart, which is that of time in each thread. */
#include "chrome_parts.h"

#include "call_label.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void put_place(struct chrome_chart *chart, uint32_t thread)
{
    const struct trace *trace = chart->writer->trace;
    uint32_t process = trace_thread_get(trace, thread)->process;
    bool known = process < trace_process_count(trace);
    chrome_number(chart->writer, "pid",
                  known ? chart->ids->pids[process] : chart->ids->tids[thread]);
    chrome_number(chart->writer, "tid", chart->tids[thread]);
}

static void put_metadata(struct chrome_chart *chart, uint32_t thread, const char *name,
                         const struct fact *argument)
{
    chrome_begin_text(chart->writer, 'M', name);
    put_place(chart, thread);
    chrome_argument(chart->writer, argument);
    chrome_end(chart->writer);
}

static void describe(struct chrome_chart *chart, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE + 16];
    size_t length = export_thread_label(chart->ids, chart->writer->trace, thread, label);
    snprintf(label + length, sizeof(label) - length, ": stacks");
    chart->tids[thread] = chart->ids->next_synthetic++;
    put_metadata(chart, thread, "thread_name",
                 &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    put_metadata(chart, thread, "thread_sort_index",
                 &(struct fact){.name = "sort_index",
                                .kind = VALUE_UINT64,
                                .value = {.uint64 = 2ull * chart->ids->thread_rank[thread] + 1}});
}

static void put_event(struct chrome_chart *chart, char phase, const struct flame_chart_event *event)
{
    char label[CALL_LABEL_SIZE];
    frame_label(&chart->names, event->function, label, sizeof(label));
    chrome_begin_text(chart->writer, phase, label);
    put_place(chart, event->thread);
    chrome_micros(chart->writer, "ts", event->time_ns - chart->writer->origin_ns);
    chrome_end(chart->writer);
}

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct chrome_chart *chart = context;
    if (!chart->tids[event->thread])
        describe(chart, event->thread);
    put_event(chart, 'B', event);
    return 0;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    put_event(context, 'E', event);
    return 0;
}

int chrome_chart_init(struct chrome_chart *chart, struct chrome_writer *writer,
                      struct export_ids *ids, const char *prefixes)
{
    const struct flame_chart_sink sink = {on_begin, on_end, chart};
    *chart = (struct chrome_chart){.writer = writer, .ids = ids};
    chart->names = (struct frame_names){.trace = writer->trace, .prefixes = prefixes};
    chart->tids = calloc(writer->thread_count + 1u, sizeof(*chart->tids));
    return chart->tids ? flame_chart_init(&chart->chart, &chart->names, &sink) : -ENOMEM;
}

void chrome_chart_fini(struct chrome_chart *chart)
{
    flame_chart_fini(&chart->chart);
    frame_names_fini(&chart->names);
    free(chart->tids);
    *chart = (struct chrome_chart){0};
}
