/* SPDX-License-Identifier: MIT */
/* The table of what blocked event loops: functions that kept other tasks waiting. */
#include "report_parts.h"

#include <stdio.h>

enum { NAME, LOCATION, COUNT, TOTAL, MEAN, MAX, WAITING };

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
    [WAITING] = {.name = "waiting_ns", .title = "waits", .type = COLUMN_TIME, .adds_up = true},
};

static void name_of(const struct report *report, const struct loop_place *place, char *buffer,
                    size_t size)
{
    if (place->label)
        code_name(report->trace, place->label, buffer, size);
    else
        snprintf(buffer, size, "%s",
                 place->purpose ? code_purpose_name(place->purpose) : "(not sampled)");
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct loop_place *places;
    loop_blocks_places(report->loops, &places);
    const struct loop_place *place = &places[index];
    char text[1024];
    name_of(report, place, text, sizeof(text));
    row_text(row, NAME, text);
    text[0] = '\0';
    if (place->label)
        code_location(report->trace, place->label, place->line, text, sizeof(text));
    row_text(row, LOCATION, text);
    row_count(row, COUNT, place->count);
    row_count(row, TOTAL, place->time_ns);
    row_count(row, MEAN, place->time_ns / place->count);
    row_count(row, MAX, place->max_ns);
    row_count(row, WAITING, place->waiting_ns);
}

int report_add_loops(struct report *report)
{
    const struct loop_place *places;
    struct table *table = report_add_table(report, "loop_blocks", fill);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->row_count = loop_blocks_places(report->loops, &places);
    table->limit = report->options.limit;
    if (table->row_count == 0)
        return 0;
    return report_plain_title(table, "what blocked event loops while other tasks had to wait");
}
