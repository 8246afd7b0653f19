/* SPDX-License-Identifier: MIT */
/* The tables of memory: who held it at the peak and at the end, who allocated it; and the same by
 * process. Only in recordings that have samples of memory. */
#include "code_owner.h"
#include "heap_stats.h"
#include "number.h"
#include "report_build.h"
#include "sample_weight.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum {
    FUNCTION,
    LOCATION,
    PROCESS,
    PEAK,
    PEAK_DEVIATION,
    PEAK_SHARE,
    HELD,
    HELD_DEVIATION,
    ALLOCATED,
    ALLOCATED_DEVIATION,
    TEMPORARY,
    BLOCKS,
    LABEL,
};

#define BYTES(called, head, order)                                                                 \
    {                                                                                              \
        .name = (called), .title = (head), .type = COLUMN_BYTES, .rank = (order), .adds_up = true  \
    }
/* A deviation of 0 is not shown: the blocks were large enough to be sampled always. */
#define DEVIATION(called, order)                                                                   \
    {                                                                                              \
        .name = (called), .title = "\u00b1", .type = COLUMN_BYTES, .rank = (order), .rare = true   \
    }

static const struct table_column columns[] = {
    [FUNCTION] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [PROCESS] = {.name = "process", .title = "process", .type = COLUMN_TEXT, .rank = 6},
    [PEAK] = BYTES("peak_bytes", "at peak", 0),
    [PEAK_DEVIATION] = DEVIATION("peak_deviation_bytes", 2),
    [PEAK_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = PEAK, .rank = 5},
    [HELD] = BYTES("held_bytes", "held", 1),
    [HELD_DEVIATION] = DEVIATION("held_deviation_bytes", 7),
    [ALLOCATED] = BYTES("allocated_bytes", "allocated", 0),
    [ALLOCATED_DEVIATION] = DEVIATION("allocated_deviation_bytes", 7),
    [TEMPORARY] = {.name = "temporary_bytes",
                   .title = "temporary",
                   .type = COLUMN_BYTES,
                   .rank = 3,
                   .rare = true,
                   .adds_up = true},
    [BLOCKS] = {.name = "block_count",
                .title = "blocks",
                .type = COLUMN_COUNT,
                .rank = 4,
                .adds_up = true},
    [LABEL] = {.name = "label", .type = COLUMN_TEXT},
};

/* Counted blocks have no known lifetimes. */
static void put_estimates(struct table_row *row, const struct heap_row *of,
                          const struct heap_totals *totals)
{
    if (!totals->counted)
        row_count(row, TEMPORARY, of->temporary);
    row_count(row, PEAK_DEVIATION, (uint64_t)sqrt(of->peak_variance));
    row_count(row, HELD_DEVIATION, (uint64_t)sqrt(of->held_variance));
    row_count(row, ALLOCATED_DEVIATION, (uint64_t)sqrt(of->allocated_variance));
}

static void put_sums(struct table_row *row, const struct heap_row *of)
{
    row_count(row, PEAK, (uint64_t)of->peak);
    row_count(row, HELD, (uint64_t)of->held);
    row_count(row, ALLOCATED, of->allocated);
    row_count(row, BLOCKS, of->objects);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct heap_row *rows;
    heap_stats_rows(report->heap, &rows);
    const struct heap_row *of = &rows[index];
    const struct heap_totals *totals = heap_stats_totals(report->heap);
    char name[512], location[512] = "", process[512];
    snprintf(name, sizeof(name), totals->counted ? "(no function)" : "(stack not sampled)");
    if (of->line == HEAP_LINE_ANNOT) {
        snprintf(name, sizeof(name), "(annot)");
    } else if (of->label) {
        code_name(report->trace, of->label, name, sizeof(name));
        code_location(report->trace, of->label, of->line, location, sizeof(location));
    }
    trace_process_label(report->trace, of->process, process, sizeof(process));
    row_text(row, FUNCTION, name);
    row_text(row, LOCATION, location);
    row_text(row, PROCESS, process);
    struct text label = text_init(process, sizeof(process));
    text_format(&label, "%s", name);
    if (location[0])
        text_format(&label, " (%s)", location);
    row_text(row, LABEL, process);
    put_sums(row, of);
    put_estimates(row, of, totals);
}

/* "memory: peak 104.6 MiB after 1.82 s, 1.07 GiB allocated; from 2,031 samples" */
static int set_title(const struct report *report, struct table *table)
{
    const struct heap_totals *totals = heap_stats_totals(report->heap);
    int64_t at_ns = trace_heap_window(report->trace)->at_ns;
    int64_t begin_ns = report->facts.totals->begin_ns, since_ns = totals->peak_ns - begin_ns;
    char size[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE], title[256];
    struct text text = text_init(title, sizeof(title));
    text_format(&text, "memory: peak %s after %s", number_size((uint64_t)totals->sums.peak, size),
                number_time_plain(since_ns > 0 ? (uint64_t)since_ns : 0, time));
    if (at_ns)
        text_format(&text, ", held %s after %s", number_size((uint64_t)totals->sums.held, size),
                    number_time_plain((uint64_t)(at_ns - begin_ns), time));
    text_format(&text, ", %s allocated; ", number_size(totals->sums.allocated, size));
    if (totals->counted)
        text_format(&text, "each block counted");
    else
        text_format(&text, "from %llu samples", (unsigned long long)totals->samples);
    return report_plain_title(table, title);
}

static int create(struct report *report)
{
    if (!sample_heap_any(report->trace))
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

/* Of counted blocks, programs get deviations of 0, and readers none. */
static void hide_estimates(struct table_column *column, size_t index)
{
    if (index == PEAK_DEVIATION || index == HELD_DEVIATION || index == ALLOCATED_DEVIATION)
        column->title = NULL;
    if (index == TEMPORARY)
        column->name = column->title = NULL;
}

static int add_functions(struct report *report)
{
    const struct heap_row *rows;
    struct table *table = report_add_table(report, "memory", fill);
    const struct heap_totals *totals = heap_stats_totals(report->heap);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        struct table_column column = columns[i];
        column.whole = i == PEAK_SHARE ? (uint64_t)totals->sums.peak : 0;
        if (totals->counted)
            hide_estimates(&column, i);
        table_add_column(table, column);
    }
    table->limit = report->options.limit;
    table->row_count = heap_stats_rows(report->heap, &rows);
    return table->row_count ? set_title(report, table) : 0;
}

/* ---- By process ------------------------------------------------------------------------------ */

enum { OF, OWN_PEAK, OWN_PEAK_TIME, AT_PEAK, LEFT, LEFT_DEVIATION, TOTAL, SOON, COUNT, END };

static const struct table_column process_columns[] = {
    [OF] = {.name = "process", .title = "process", .type = COLUMN_TEXT},
    [OWN_PEAK] = {.name = "own_peak_bytes", .title = "own peak", .type = COLUMN_BYTES},
    [OWN_PEAK_TIME] = {.name = "own_peak_time_ns",
                       .title = "after",
                       .type = COLUMN_TIME,
                       .rank = 2},
    [AT_PEAK] = BYTES("peak_bytes", "at peak", 0),
    [LEFT] = BYTES("held_bytes", "held", 0),
    [LEFT_DEVIATION] = DEVIATION("held_deviation_bytes", 5),
    [TOTAL] = BYTES("allocated_bytes", "allocated", 1),
    [SOON] = BYTES("temporary_bytes", "temporary", 3),
    [COUNT] = {.name = "block_count",
               .title = "blocks",
               .type = COLUMN_COUNT,
               .rank = 4,
               .adds_up = true},
    [END] = {.name = "end", .title = "end", .type = COLUMN_TEXT, .rank = 2},
};

static void fill_process(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct heap_process *processes;
    heap_stats_processes(report->heap, &processes);
    const struct heap_process *of = &processes[index];
    int64_t begin_ns = report->facts.totals->begin_ns;
    char text[512];
    trace_process_label(report->trace, of->sums.process, text, sizeof(text));
    row_text(row, OF, text);
    row_count(row, OWN_PEAK, (uint64_t)of->peak);
    row_count(row, OWN_PEAK_TIME, (uint64_t)(of->peak_ns > begin_ns ? of->peak_ns - begin_ns : 0));
    row_count(row, AT_PEAK, (uint64_t)of->sums.peak);
    row_count(row, LEFT, (uint64_t)of->sums.held);
    row_count(row, LEFT_DEVIATION, (uint64_t)sqrt(of->sums.held_variance));
    row_count(row, TOTAL, of->sums.allocated);
    if (!heap_stats_totals(report->heap)->counted)
        row_count(row, SOON, of->sums.temporary);
    row_count(row, COUNT, of->sums.objects);
    trace_process_end_label(report->trace, of->sums.process, text, sizeof(text));
    row_text(row, END, text);
}

static int add_processes(struct report *report)
{
    const struct heap_process *processes;
    struct table *table = report_add_table(report, "memory_processes", fill_process);
    for (size_t i = 0; i < sizeof(process_columns) / sizeof(*process_columns); i++)
        table_add_column(table, process_columns[i]);
    table->limit = report->options.limit;
    table->row_count = heap_stats_processes(report->heap, &processes);
    return table->row_count > 1
               ? report_plain_title(table, "memory of processes: at their own peak, at the peak of "
                                           "all together, and at their end")
               : 0;
}

static int add_tables(struct report *report)
{
    if (!report->heap)
        return 0;
    int error = add_functions(report);
    return error ? error : add_processes(report);
}

static void destroy(struct report *report)
{
    heap_stats_destroy(report->heap);
}

const struct report_part report_part_memory = {.create = create,
                                               .sink = sink_of,
                                               .finish = finish,
                                               .add_tables = add_tables,
                                               .destroy = destroy};
