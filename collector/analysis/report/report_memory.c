/* SPDX-License-Identifier: MIT */
/* The table of memory: who held it at the peak, and who allocated it. Only in recordings that have
 * samples of memory. */
#include "code_owner.h"
#include "heap_stats.h"
#include "number.h"
#include "report_build.h"

#include <errno.h>
#include <stdio.h>

enum { FUNCTION, LOCATION, PROCESS, PEAK, PEAK_SHARE, ALLOCATED, ALLOCATED_SHARE, BLOCKS };

static const struct table_column columns[] = {
    [FUNCTION] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [PROCESS] = {.name = "process", .title = "process", .type = COLUMN_TEXT, .rank = 2},
    [PEAK] = {.name = "peak_bytes", .title = "at peak", .type = COLUMN_BYTES, .adds_up = true},
    [PEAK_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = PEAK},
    [ALLOCATED] = {.name = "allocated_bytes",
                   .title = "allocated",
                   .type = COLUMN_BYTES,
                   .adds_up = true},
    [ALLOCATED_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = ALLOCATED},
    [BLOCKS] = {.name = "block_count",
                .title = "blocks",
                .type = COLUMN_COUNT,
                .rank = 1,
                .adds_up = true},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct heap_row *rows;
    heap_stats_rows(report->heap, &rows);
    const struct heap_row *of = &rows[index];
    char name[512] = "(stack not sampled)", location[512] = "", process[512];
    if (of->label) {
        code_name(report->trace, of->label, name, sizeof(name));
        code_location(report->trace, of->label, of->line, location, sizeof(location));
    }
    trace_process_label(report->trace, of->process, process, sizeof(process));
    row_text(row, FUNCTION, name);
    row_text(row, LOCATION, location);
    row_text(row, PROCESS, process);
    row_count(row, PEAK, of->peak > 0 ? (uint64_t)of->peak : 0);
    row_count(row, ALLOCATED, of->allocated);
    row_count(row, BLOCKS, of->objects);
}

/* "memory: at most 105 MB (at 1.82 s), 1.07 GB allocated, estimated from 2,031 samples" */
static int set_title(const struct report *report, struct table *table)
{
    const struct heap_totals *totals = heap_stats_totals(report->heap);
    char peak[NUMBER_TEXT_SIZE], allocated[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE], title[256];
    uint64_t since_ns = (uint64_t)(totals->peak_ns - report->facts.totals->begin_ns);
    snprintf(title, sizeof(title), "memory: peak %s after %s, %s allocated; from %llu samples",
             number_size((uint64_t)totals->peak, peak), number_time_plain(since_ns, time),
             number_size(totals->allocated, allocated), (unsigned long long)totals->samples);
    return report_plain_title(table, title);
}

static int create(struct report *report)
{
    if (!heap_stats_any(report->trace))
        return 0;
    report->heap = heap_stats_create(report->trace);
    return report->heap ? 0 : -ENOMEM;
}

static struct sink sink_of(const struct report *report)
{
    return report->heap ? heap_stats_sink(report->heap) : (struct sink){0};
}

static int finish(struct report *report)
{
    return report->heap ? heap_stats_finish(report->heap) : 0;
}

static int add_table(struct report *report)
{
    const struct heap_row *rows;
    if (!report->heap)
        return 0;
    struct table *table = report_add_table(report, "memory", fill);
    const struct heap_totals *totals = heap_stats_totals(report->heap);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        struct table_column column = columns[i];
        column.whole = i == PEAK_SHARE        ? (uint64_t)totals->peak
                       : i == ALLOCATED_SHARE ? totals->allocated
                                              : 0;
        table_add_column(table, column);
    }
    table->limit = report->options.limit;
    table->row_count = heap_stats_rows(report->heap, &rows);
    return table->row_count ? set_title(report, table) : 0;
}

static void destroy(struct report *report)
{
    heap_stats_destroy(report->heap);
}

const struct report_part report_part_memory = {.create = create,
                                               .sink = sink_of,
                                               .finish = finish,
                                               .add_tables = add_table,
                                               .destroy = destroy};
