/* SPDX-License-Identifier: MIT */
/* The table of awaits: where tasks of asyncio were suspended, and what they awaited. */
#include "report_parts.h"

enum { NAME, LOCATION, AWAITS, COUNT, TOTAL, MEAN, MAX };

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [AWAITS] = {.name = "awaits", .title = "awaits", .type = COLUMN_TEXT},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct await_place *places;
    awaits_places(report->awaits, &places);
    const struct await_place *place = &places[index];
    char location[512];
    code_file_location(report->trace, place->file, place->line, location, sizeof(location));
    row_text(row, NAME,
             place->function ? trace_string(report->trace, place->function)->bytes : "(others)");
    row_text(row, LOCATION, location);
    row_text(row, AWAITS, trace_string(report->trace, place->awaits)->bytes);
    row_count(row, COUNT, place->count);
    row_count(row, TOTAL, place->total_ns);
    row_count(row, MEAN, place->total_ns / place->count);
    row_count(row, MAX, place->max_ns);
}

int report_add_awaits(struct report *report)
{
    const struct await_place *places;
    struct table *table = report_add_table(report, "awaits", fill);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->row_count = awaits_places(report->awaits, &places);
    table->limit = report->options.limit;
    if (table->row_count == 0)
        return 0;
    return report_plain_title(table, "where tasks of asyncio were suspended for 1 ms and longer");
}
