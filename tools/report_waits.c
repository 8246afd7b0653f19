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
    table_add_time(table, wait->blocked_ns);
    table_add_percent(table, wait->blocked_ns, all_ns);
    table_add_time(table, wait->count ? wait->blocked_ns / wait->count : 0);
    table_add_time(table, wait->max_ns);
}

static int print_reasons(const struct report_functions_options *options)
{
    const struct sample_stats *inside = &options->samples->inside;
    const struct wait_share *waits = inside->waits;
    uint64_t all_ns = inside->all.blocked_ns + inside->all.runnable_ns;
    bool shown[WAIT_REASON_COUNT] = {false};
    struct wait_share cpu = {inside->stretch_count, inside->all.runnable_ns, 0};
    if (inside->stretch_count == 0)
        return 0;
    struct table *table = table_create(wait_columns, 6);
    if (!table)
        return -ENOMEM;
    for (;;) {
        int most = -1;
        for (int i = 0; i < WAIT_REASON_COUNT; i++)
            if (!shown[i] && waits[i].blocked_ns > 0 &&
                (most < 0 || waits[i].blocked_ns > waits[most].blocked_ns))
                most = i;
        if (most < 0)
            break;
        shown[most] = true;
        table_add(table, wait_reason_name((enum wait_reason)most));
        add_wait(table, &waits[most], all_ns);
    }
    table_add(table, "a CPU (runnable)");
    table_add_count(table, cpu.count);
    table_add_time(table, cpu.blocked_ns);
    table_add_percent(table, cpu.blocked_ns, all_ns);
    table_add_time(table, cpu.blocked_ns / cpu.count);
    table_add(table, "");
    return report_print_table(options, table, "waits: why threads did not run");
}

static const struct table_column place_columns[] = {
    {"function", 0, true}, {"waited for", 0, true}, {"count", 1, false},
    {"total", 0, false},   {"%", 3, false},         {"max", 2, false},
};

static void add_place(const struct report_functions_options *options, struct table *table,
                      const struct wait_place *place)
{
    const struct sample_stats *inside = &options->samples->inside;
    const struct stacks *stacks = trace_stacks_get(options->trace);
    uint64_t all_ns = inside->all.blocked_ns + inside->all.runnable_ns;
    if (place->frame)
        report_add_function(table, options->trace, stacks_get_frame(stacks, place->frame));
    else
        table_add(table, "(no stack)");
    table_add(table, wait_reason_name((enum wait_reason)place->reason));
    table_add_count(table, place->count);
    table_add_time(table, place->blocked_ns);
    table_add_percent(table, place->blocked_ns, all_ns);
    table_add_time(table, place->max_ns);
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
    int rc = report_print_table(options, table, "where threads waited");
    if (shown < count)
        printf("(%s more)\n", number_count(count - shown, text));
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
