/* SPDX-License-Identifier: MIT */
/* See chrome_parts.h. */
#include "chrome_parts.h"

#include <math.h>
#include <string.h>

/* Counters have numbers only: what the format's readers take for none is made one. */
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

static int put_value(struct chrome_counters *counters, const struct counter_run *run,
                     const struct event *event, bool *begun)
{
    const struct event *first = &run->events[0];
    if (event->value_kind == VALUE_DOUBLE && !isfinite(event->value.float64)) {
        counters->left_out++;
        return 0;
    }
    int error = series_name(counters, run, event);
    if (error)
        return error;
    if (!*begun) {
        chrome_begin_text(counters->writer, 'C', counters->label.items);
        chrome_place(counters->writer, first->thread, first->time_ns);
    }
    *begun = true;
    struct fact fact = value_fact(event, counters->series.items);
    chrome_argument(counters->writer, &fact);
    return 0;
}

static int put_run(void *context, const struct counter_run *run)
{
    struct chrome_counters *counters = context;
    bool begun = false;
    int error = run_name(counters, run);
    for (uint32_t i = 0; !error && i < run->count; i++)
        error = put_value(counters, run, &run->events[i], &begun);
    if (begun)
        chrome_end(counters->writer);
    return error;
}

int chrome_counters_init(struct chrome_counters *counters, struct chrome_writer *writer)
{
    counters->writer = writer;
    counters->groups.put = put_run;
    counters->groups.context = counters;
    return counter_groups_init(&counters->groups, writer->trace);
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
