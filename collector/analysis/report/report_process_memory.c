/* SPDX-License-Identifier: MIT */
/* The table of resident memory: two rows for each process, when it had most of it and at its end.
 * Only in recordings that have counters of memory. */
#include "number.h"
#include "process_memory.h"
#include "report_build.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>

enum { PROCESS, PID, MOMENT, TIME, RSS, LIVE, FILES, REST };

static const struct table_column columns[] = {
    [PROCESS] = {.name = "process", .title = "process", .type = COLUMN_TEXT},
    [PID] = {.name = "pid", .title = "pid", .type = COLUMN_NUMBER, .rank = 2},
    [MOMENT] = {.name = "moment", .title = "at its", .type = COLUMN_TEXT},
    [TIME] = {.name = "time_ns", .title = "after", .type = COLUMN_TIME, .rank = 1},
    [RSS] = {.name = "rss_bytes", .title = "RSS", .type = COLUMN_BYTES},
    [LIVE] = {.name = "heap_live_bytes", .title = "heap live", .type = COLUMN_BYTES},
    [FILES] = {.name = "rss_files_bytes", .title = "of files", .type = COLUMN_BYTES},
    [REST] = {.name = "rss_rest_bytes", .title = "rest", .type = COLUMN_BYTES},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct process_memory_row *rows;
    process_memory_rows(report->process_memory, &rows);
    const struct process_memory_row *of = &rows[index / 2];
    const struct process_memory_moment *moment = index % 2 ? &of->end : &of->most;
    int64_t since_ns = moment->time_ns - trace_session_get(report->trace)->begin_ns;
    int64_t rest = process_memory_rest(moment);
    char process[512];
    trace_process_label(report->trace, of->process, process, sizeof(process));
    row_text(row, PROCESS, process);
    row_number(row, PID, trace_process_get(report->trace, of->process)->pid);
    row_text(row, MOMENT, index % 2 ? "end" : "peak");
    if (since_ns > 0)
        row_count(row, TIME, (uint64_t)since_ns);
    row_count(row, RSS, (uint64_t)moment->rss);
    if (moment->files >= 0)
        row_count(row, FILES, (uint64_t)moment->files);
    if (moment->live >= 0)
        row_count(row, LIVE, (uint64_t)moment->live);
    if (rest >= 0)
        row_count(row, REST, (uint64_t)rest);
}

/* "136.7 MiB at its end (67.8 MiB neither live blocks nor files)". Of a forked process the rest is
 * mostly its parent's. */
static void add_moment(struct text *text, const struct process_memory_moment *moment,
                       const char *when, bool forked)
{
    char number[NUMBER_TEXT_SIZE];
    int64_t rest = process_memory_rest(moment);
    text_format(text, "%s %s", number_size((uint64_t)moment->rss, number), when);
    if (rest > 0 && !forked)
        text_format(text, " (%s neither live blocks nor files)",
                    number_size((uint64_t)rest, number));
}

/* Of the process with the largest peak. */
static int set_title(const struct report *report, struct table *table)
{
    const struct process_memory_row *rows;
    char process[256], title[512];
    struct text text = text_init(title, sizeof(title));
    process_memory_rows(report->process_memory, &rows);
    bool forked = trace_process_get(report->trace, rows->process)->forked;
    trace_process_label(report->trace, rows->process, process, sizeof(process));
    text_format(&text, "resident memory of %s: ", process);
    add_moment(&text, &rows->most, "at its peak", forked);
    text_format(&text, ", ");
    add_moment(&text, &rows->end, "at its end", forked);
    return report_plain_title(table, title);
}

static int create(struct report *report)
{
    if (!process_memory_any(report->trace))
        return 0;
    report->process_memory = process_memory_create(report->trace);
    return report->process_memory ? 0 : -ENOMEM;
}

static struct sink sink_of(const struct report *report)
{
    return report->process_memory ? process_memory_sink(report->process_memory) : (struct sink){0};
}

static int finish(struct report *report)
{
    return report->process_memory ? process_memory_finish(report->process_memory) : 0;
}

static int add_table(struct report *report)
{
    const struct process_memory_row *rows;
    if (!report->process_memory)
        return 0;
    struct table *table = report_add_table(report, "process_memory", fill);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->limit = report->options.limit;
    table->row_count = 2 * (uint64_t)process_memory_rows(report->process_memory, &rows);
    return table->row_count ? set_title(report, table) : 0;
}

static void destroy(struct report *report)
{
    process_memory_destroy(report->process_memory);
}

const struct report_part report_part_process_memory = {.create = create,
                                                       .sink = sink_of,
                                                       .finish = finish,
                                                       .add_tables = add_table,
                                                       .destroy = destroy};
