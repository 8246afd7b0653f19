/* SPDX-License-Identifier: MIT */
/* See chrome_counters.h. */
#include "chrome_counters.h"

#include "chrome_annotations.h"
#include "chrome_gpu.h"
#include "chrome_writer.h"

#include "trace_devices.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Counters are numbers: values that readers would not take as numbers are converted. */
static struct fact value_fact(const struct event *event, const char *name)
{
    struct fact fact = {.name = name, .kind = event->value_kind, .value = event->value};
    if (fact.kind == VALUE_BOOL) {
        fact.kind = VALUE_UINT64;
        fact.value.uint64 = fact.value.uint64 != 0;
    }
    if (fact.kind == VALUE_UINT64 && fact.value.uint64 > CHROME_EXACT_MAX) {
        fact.kind = VALUE_DOUBLE;
        fact.value.float64 = (double)event->value.uint64;
    } else if (fact.kind == VALUE_INT64 && !chrome_is_exact(fact.value.int64)) {
        fact.kind = VALUE_DOUBLE;
        fact.value.float64 = (double)event->value.int64;
    }
    return fact;
}

static int add_text(struct export_text *text, const char *bytes)
{
    return export_text_add(text, bytes, strlen(bytes));
}

/* "value", the unit, or "series [unit]". */
static int series_name(struct chrome_counters *counters, const struct counter_run *run,
                       const struct event *event)
{
    const struct trace *trace = counters->writer->trace;
    struct export_text *series = &counters->series;
    uint32_t unit_string = counter_unit(&counters->groups, event);
    const char *unit = trace_string(trace, unit_string)->bytes;
    series->count = 0;
    if (!run->group_length)
        return add_text(series, unit_string ? unit : "value");
    int error = add_text(series, trace_string(trace, event->name)->bytes + run->group_length + 1);
    if (error || !unit_string)
        return error;
    error = add_text(series, " [");
    error = error ? error : add_text(series, unit);
    return error ? error : add_text(series, "]");
}

/* The counter's name, or that of the group, with the domain. */
static int run_name(struct chrome_counters *counters, const struct counter_run *run)
{
    const struct event *first = &run->events[0];
    struct export_text *label = &counters->label;
    int error = export_counter_label(counters->writer->trace, first, label);
    if (error || !run->group_length)
        return error;
    label->count -= trace_string(counters->writer->trace, first->name)->length - run->group_length;
    label->items[label->count] = 0;
    return 0;
}

/* Place of a counter: a thread, or the device if it has a lane. */
struct counter_place {
    const char *name;
    uint32_t pid; /* of the device */
    bool on_device;
};

static void put_begin(struct chrome_counters *counters, const struct event *event,
                      const struct counter_place *place)
{
    struct chrome_writer *writer = counters->writer;
    char text[CHROME_GPU_PLACE];
    chrome_begin_text(writer, 'C', place->name);
    if (!place->on_device) {
        chrome_place(writer, event->thread, event->time_ns);
        return;
    }
    snprintf(text, sizeof(text), ",\"pid\":%u,\"tid\":0", place->pid);
    out_text(writer->out, text);
    chrome_micros(writer, "ts", event->time_ns - writer->origin_ns);
}

static int put_value(struct chrome_counters *counters, const struct counter_run *run,
                     const struct event *event)
{
    int error = series_name(counters, run, event);
    if (error)
        return error;
    struct fact fact = value_fact(event, counters->series.items);
    chrome_argument(counters->writer, &fact);
    return 0;
}

static bool is_number(const struct event *event)
{
    return event->value_kind != VALUE_DOUBLE || isfinite(event->value.float64);
}

static int put_run_at(struct chrome_counters *counters, const struct counter_run *run,
                      const struct counter_place *place)
{
    bool begun = false;
    int error = 0;
    for (uint32_t i = 0; !error && i < run->count; i++) {
        if (!is_number(&run->events[i]))
            continue;
        if (!begun)
            put_begin(counters, &run->events[0], place);
        begun = true;
        error = put_value(counters, run, &run->events[i]);
    }
    if (begun)
        chrome_end(counters->writer);
    return error;
}

/* For a counter of a device: beside the streams of each program that uses it. */
static int put_on_devices(struct chrome_counters *counters, const struct counter_run *run,
                          bool *ret_placed)
{
    const struct trace *trace = counters->writer->trace;
    const struct event *first = &run->events[0];
    char name[TRACE_DEVICE_COUNTER_SIZE];
    uint32_t lane = 0;
    int error = 0;
    while (!error && (lane = trace_device_next_lane(trace, first->thread, lane)) != 0) {
        struct counter_place place = {.on_device = true};
        place.pid = chrome_device_pid(counters->gpu, lane - 1);
        if (place.pid == UINT32_MAX)
            return -ENOMEM;
        const struct device_counter counter = {trace_string(trace, first->name)->bytes,
                                               first->thread, lane - 1};
        place.name = trace_device_counter(trace, &counter, name);
        error = put_run_at(counters, run, &place);
        *ret_placed = true;
    }
    return error;
}

static int put_run(void *context, const struct counter_run *run)
{
    struct chrome_counters *counters = context;
    bool placed = false;
    int error = run_name(counters, run);
    for (uint32_t i = 0; i < run->count; i++)
        counters->left_out += !is_number(&run->events[i]);
    if (!error)
        error = put_on_devices(counters, run, &placed);
    return error || placed
               ? error
               : put_run_at(counters, run, &(struct counter_place){.name = counters->label.items});
}

int chrome_counters_init(struct chrome_counters *counters, struct chrome_gpu *gpu)
{
    counters->gpu = gpu;
    counters->writer = gpu->writer;
    counters->groups.put = put_run;
    counters->groups.context = counters;
    return counter_groups_init(&counters->groups, counters->writer->trace);
}

int chrome_counters_add(struct chrome_counters *counters, const struct event *event)
{
    if (event->thread >= counters->writer->thread_count)
        return 0;
    return counter_groups_add(&counters->groups, event);
}

int chrome_counters_finish(struct chrome_counters *counters)
{
    return counter_groups_finish(&counters->groups);
}

void chrome_counters_fini(struct chrome_counters *counters)
{
    counter_groups_fini(&counters->groups);
    vec_free(&counters->label);
    vec_free(&counters->series);
}
