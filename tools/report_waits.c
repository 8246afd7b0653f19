/* SPDX-License-Identifier: MIT */
/* The tables of waits of report_functions.h: what threads waited for, and where. */
#include "report_functions.h"

#include "number_text.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>

static const struct table_column wait_columns[] = {
    {"waited for", 0, true}, {"count", 1, false}, {"total", 0, false},
    {"%", 0, false},         {"mean", 2, false},  {"max", 3, false},
};

static void add_wait(struct table *table, const struct wait_share *wait, uint64_t all_ns)
{
    table_add_count(table, wait->count);
    table_add_time(table, wait->total_ns);
    table_add_percent(table, wait->total_ns, all_ns);
    table_add_time(table, wait->count ? wait->total_ns / wait->count : 0);
    table_add_time(table, wait->max_ns);
}

static uint64_t off_cpu_ns(const struct report_functions_options *options)
{
    const struct thread_share *inside = &options->samples->inside.all;
    return inside->blocked_ns + inside->runnable_ns;
}

static int print_reasons(const struct report_functions_options *options)
{
    const struct sample_stats *inside = &options->samples->inside;
    const struct wait_share *waits = inside->waits;
    bool shown[WAIT_REASON_COUNT] = {false};
    if (inside->stretch_count == 0)
        return 0;
    struct table *table = table_create(wait_columns, 6);
    if (!table)
        return -ENOMEM;
    for (;;) {
        int most = -1;
        for (int i = 0; i < WAIT_REASON_COUNT; i++)
            if (!shown[i] && waits[i].count > 0 &&
                (most < 0 || waits[i].total_ns > waits[most].total_ns))
                most = i;
        if (most < 0)
            break;
        shown[most] = true;
        table_add(table, wait_reason_name((enum wait_reason)most));
        add_wait(table, &waits[most], off_cpu_ns(options));
    }
    table_add(table, "a CPU (runnable)");
    add_wait(table, &inside->runnable, off_cpu_ns(options));
    return report_print_table(options, table, "waits: why threads did not run");
}

static const struct table_column place_columns[] = {
    {"function", 0, true}, {"waited for", 0, true}, {"count", 1, false},
    {"total", 0, false},   {"%", 3, false},         {"max", 2, false},
};

static void add_place_times(const struct report_functions_options *options, struct table *table,
                            uint64_t count, uint64_t total_ns)
{
    table_add_count(table, count);
    table_add_time(table, total_ns);
    table_add_percent(table, total_ns, off_cpu_ns(options));
}

static void add_place(const struct report_functions_options *options, struct table *table,
                      const struct wait_place *place)
{
    const struct stacks *stacks = trace_stacks_get(options->trace);
    if (place->frame)
        report_add_function(table, options->trace, stacks_get_frame(stacks, place->frame), "");
    else
        table_add(table, "(no stack)");
    table_add(table, wait_reason_name((enum wait_reason)place->reason));
    add_place_times(options, table, place->count, place->blocked_ns);
    table_add_time(table, place->max_ns);
}

/* The rows that were left out, and the time that is of no place: so the table has all time off the
 * CPU. */
static void add_rest(const struct report_functions_options *options, struct table *table,
                     const struct wait_place *places, uint64_t count)
{
    const struct wait_share *runnable = &options->samples->inside.runnable;
    char label[NUMBER_TEXT_SIZE + 16], number[NUMBER_TEXT_SIZE];
    uint64_t more = 0, more_ns = 0;
    for (uint64_t i = 0; i < count; i++) {
        more += places[i].count;
        more_ns += places[i].blocked_ns;
    }
    snprintf(label, sizeof(label), "(%s more)", number_count(count, number));
    if (count > 0) {
        table_add(table, label);
        table_add(table, "");
        add_place_times(options, table, more, more_ns);
        table_add(table, "");
    }
    if (runnable->count > 0) {
        table_add(table, "(anywhere)");
        table_add(table, "a CPU (runnable)");
        add_place_times(options, table, runnable->count, runnable->total_ns);
        table_add_time(table, runnable->max_ns);
    }
}

/* The functions that called what waits; which program did it, their callers tell. */
static int print_places(const struct report_functions_options *options)
{
    const struct wait_place *places;
    char text[NUMBER_TEXT_SIZE];
    uint32_t count = wait_places_sort(options->samples->places, &places);
    uint64_t unfinished = 0, shown = count < options->functions ? count : options->functions;
    struct table *table = shown ? table_create(place_columns, 6) : NULL;
    if (shown == 0)
        return 0;
    if (!table)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        unfinished += places[i].unfinished;
    for (uint64_t i = 0; i < shown; i++)
        add_place(options, table, &places[i]);
    add_rest(options, table, places + shown, count - shown);
    int rc = report_print_table(options, table, "where threads waited");
    if (unfinished)
        printf("(waits that had not ended when the recording did: %s)\n",
               number_count(unfinished, text));
    printf("(annot flame --off-cpu shows who called these functions)\n");
    return rc;
}

int report_waits_print(const struct report_functions_options *options)
{
    int rc = print_reasons(options);
    return rc == 0 && options->samples->off_cpu ? print_places(options) : rc;
}
