/* SPDX-License-Identifier: MIT */
/* See chrome_parts.h. */
#include "chrome_parts.h"

#include "text.h"

#include <math.h>
#include <stdio.h>

enum { NAME_SIZE = 2400 };

/* Ends a text that snprintf may have cut at a whole character. */
static void cut(char *buffer, int length)
{
    if (length >= NAME_SIZE)
        buffer[utf8_whole(buffer, NAME_SIZE - 1)] = 0;
}

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

/* "value", the unit, or "series [unit]". */
static void series_name(struct chrome_counters *counters, const struct counter_run *run,
                        uint32_t index, char *buffer)
{
    const struct trace *trace = counters->writer->trace;
    const struct event *event = &run->events[index];
    uint32_t unit_string = counter_unit(&counters->groups, event);
    const char *unit = trace_string(trace, unit_string)->bytes;
    const char *series = trace_string(trace, event->name)->bytes + run->group_length + 1;
    int length;
    if (!run->group_length)
        length = snprintf(buffer, NAME_SIZE, "%s", unit_string ? unit : "value");
    else if (unit_string)
        length = snprintf(buffer, NAME_SIZE, "%s [%s]", series, unit);
    else
        length = snprintf(buffer, NAME_SIZE, "%s", series);
    cut(buffer, length);
}

/* The counter's name, or that of the group, with the domain. */
static void run_name(struct chrome_counters *counters, const struct counter_run *run, char *buffer)
{
    const struct trace *trace = counters->writer->trace;
    const struct event *first = &run->events[0];
    uint32_t domain = trace_scope_domain(trace, first->scope);
    if (!run->group_length)
        export_counter_label(trace, first, buffer, NAME_SIZE);
    else
        cut(buffer, snprintf(buffer, NAME_SIZE, "%s%s%.*s", trace_string(trace, domain)->bytes,
                             domain ? ": " : "", (int)run->group_length,
                             trace_string(trace, first->name)->bytes));
}

static int put_run(void *context, const struct counter_run *run)
{
    struct chrome_counters *counters = context;
    char label[NAME_SIZE], name[NAME_SIZE];
    const struct event *first = &run->events[0];
    bool begun = false;
    run_name(counters, run, label);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct event *event = &run->events[i];
        if (event->value_kind == VALUE_DOUBLE && !isfinite(event->value.float64)) {
            counters->left_out++;
            continue;
        }
        if (!begun) {
            chrome_begin_text(counters->writer, 'C', label);
            chrome_place(counters->writer, first->thread, first->time_ns);
        }
        begun = true;
        series_name(counters, run, i, name);
        struct fact fact = value_fact(event, name);
        chrome_argument(counters->writer, &fact);
    }
    if (begun)
        chrome_end(counters->writer);
    return 0;
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
}
