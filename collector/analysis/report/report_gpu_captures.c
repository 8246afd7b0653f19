/* SPDX-License-Identifier: MIT */
/* The table of what graphs did, by the ranges in which they were captured. A model that is captured
 * once and launched a thousand times has its layers here, over all launches. See gpu_stats.h. */
#include "report_parts.h"

#include "gpu_stats.h"

enum {
    CAPTURED_IN,
    COUNT,
    TOTAL,
    SHARE,
    MEAN,
};

static const struct table_column columns[] = {
    [CAPTURED_IN] = {.name = "captured_in", .title = "captured in"},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [TOTAL] = {.name = "gpu_ns", .title = "GPU", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TOTAL},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_from *captures;
    gpu_stats_captures(report->gpu, &captures);
    const struct gpu_from *capture = &captures[index];
    row_text(row, CAPTURED_IN,
             capture->what ? trace_string(report->trace, capture->what)->bytes
                           : "(no range, or not recorded)");
    row_count(row, COUNT, capture->count);
    row_count(row, TOTAL, capture->time_ns);
    row_count(row, MEAN, capture->time_ns / capture->count);
}

int report_add_gpu_captures(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_captures", fill);
    const struct gpu_from *captures;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SHARE].whole = gpu_stats_totals(report->gpu)->total_ns;
    table->row_count = gpu_stats_captures(report->gpu, &captures);
    table->limit = report->options.limit;
    return table->row_count
               ? report_plain_title(table, "GPU time of graphs by the ranges that captured them")
               : 0;
}
