/* SPDX-License-Identifier: MIT */
/* The table of waits by reason. For their places see report_own.c. */
#include "report_build.h"
#include "report_samples.h"
#include "wait_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Awaits ---------------------------------------------------------------------------------- */

/* The table of awaits: places where tasks of asyncio were suspended, and the awaited operations. */

enum { NAME, LOCATION, AWAITS, AWAIT_COUNT, AWAIT_TOTAL, AWAIT_MEAN, AWAIT_MAX };

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [AWAITS] = {.name = "awaits", .title = "awaits", .type = COLUMN_TEXT},
    [AWAIT_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [AWAIT_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [AWAIT_MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
    [AWAIT_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
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
    row_count(row, AWAIT_COUNT, place->count);
    row_count(row, AWAIT_TOTAL, place->total_ns);
    row_count(row, AWAIT_MEAN, place->total_ns / place->count);
    row_count(row, AWAIT_MAX, place->max_ns);
}

static int add_awaits(struct report *report)
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

static int create_awaits(struct report *report)
{
    report->awaits = awaits_create(report->trace);
    return report->awaits ? 0 : -ENOMEM;
}

static struct sink sink_of_awaits(const struct report *report)
{
    return awaits_sink(report->awaits);
}

static int finish_awaits(struct report *report)
{
    awaits_finish(report->awaits);
    return 0;
}

static void destroy_awaits(struct report *report)
{
    awaits_destroy(report->awaits);
}

const struct report_part report_part_awaits = {.create = create_awaits,
                                               .sink = sink_of_awaits,
                                               .finish = finish_awaits,
                                               .add_tables = add_awaits,
                                               .destroy = destroy_awaits};

/* ---- Waits ----------------------------------------------------------------------------------- */

#define RUNNABLE "a CPU (runnable)"

static uint64_t off_cpu_ns(const struct report *report)
{
    const struct thread_share *inside = &report->samples.inside.all;
    return inside->blocked_ns + inside->runnable_ns;
}

/* ---- Reasons --------------------------------------------------------------------------------- */

enum { REASON_LABEL, REASON, COUNT, TOTAL, SHARE, MEAN, MAX };

static const struct table_column reason_columns[] = {
    [REASON_LABEL] = {.title = "waited for", .type = COLUMN_TEXT},
    [REASON] = {.name = "reason", .type = COLUMN_TEXT},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TOTAL},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 2},
    [MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 3},
};

struct kind_row {
    unsigned kind; /* WAIT_KINDS: ready */
    struct wait_share wait;
};

static void fill_reason(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct kind_row *of = (const struct kind_row *)table->rows + index;
    bool runnable = of->kind == WAIT_KINDS;
    const char *name = runnable ? NULL : wait_kind_name(of->kind);
    row_text(row, REASON_LABEL, runnable ? RUNNABLE : name);
    row_text(row, REASON, runnable ? "runnable" : name);
    row_count(row, COUNT, of->wait.count);
    row_count(row, TOTAL, of->wait.total_ns);
    row_count(row, MEAN, of->wait.count ? of->wait.total_ns / of->wait.count : 0);
    row_count(row, MAX, of->wait.max_ns);
}

/* Splits waits for locks into those for queues, futures, ... according to their stacks. */
static void split_locks(const struct report *report, struct kind_row *rows)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(report->samples.own, &waits);
    struct wait_share *locks = &rows[WAIT_LOCK].wait, left = *locks;
    left.max_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct own_wait *from = &waits[i];
        struct wait_share *to = from->kind == WAIT_LOCK ? &left : &rows[from->kind].wait;
        if (from->reason != WAIT_LOCK)
            continue;
        to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
        if (from->kind == WAIT_LOCK || from->count > left.count || from->blocked_ns > left.total_ns)
            continue;
        to->count += from->count;
        to->total_ns += from->blocked_ns;
        left.count -= from->count;
        left.total_ns -= from->blocked_ns;
    }
    *locks = left;
}

static int longest_first(const void *left, const void *right)
{
    const struct kind_row *a = left, *b = right;
    if (a->wait.total_ns != b->wait.total_ns)
        return a->wait.total_ns < b->wait.total_ns ? 1 : -1;
    return (int)a->kind - (int)b->kind;
}

/* Finds the kinds that occurred, longest first, then the wait for a CPU. Returns their number. */
static uint64_t find_kinds(const struct report *report, struct kind_row *rows)
{
    const struct sample_stats *inside = &report->samples.inside;
    uint64_t count = 0;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        rows[kind] = (struct kind_row){kind, kind < WAIT_REASON_COUNT ? inside->waits[kind]
                                                                      : (struct wait_share){0}};
    split_locks(report, rows);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        if (rows[kind].wait.count > 0)
            rows[count++] = rows[kind];
    qsort(rows, count, sizeof(*rows), longest_first);
    rows[count++] = (struct kind_row){WAIT_KINDS, inside->runnable};
    return count;
}

static int add_waits(struct report *report)
{
    struct table *table = report_add_table(report, "waits", fill_reason);
    table->rows = calloc(WAIT_KINDS + 1, sizeof(struct kind_row));
    if (!table->rows)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof(reason_columns) / sizeof(*reason_columns); i++)
        table_add_column(table, reason_columns[i]);
    table->columns[SHARE].whole = off_cpu_ns(report);
    table->long_labels = true;
    if (report->samples.inside.stretch_count > 0)
        table->row_count = find_kinds(report, table->rows);
    return report_title(report, table, "waits: why threads did not run");
}

const struct report_part report_part_waits = {.add_tables = add_waits};

/* ---- Blocks of event loops ------------------------------------------------------------------- */

/* The table of blocked event loops: functions that kept other tasks waiting. */

enum { LOOP_NAME, LOOP_LOCATION, LOOP_COUNT, LOOP_TOTAL, LOOP_MEAN, LOOP_MAX, BLOCKED };

static const struct table_column columns_loop[] = {
    [LOOP_NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOOP_LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [LOOP_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [LOOP_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [LOOP_MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
    [LOOP_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
    [BLOCKED] = {.name = "blocked_ns", .title = "blocked", .type = COLUMN_TIME, .adds_up = true},
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

static void fill_loop(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct loop_place *places;
    loop_blocks_places(report->loops, &places);
    const struct loop_place *place = &places[index];
    char text[1024];
    name_of(report, place, text, sizeof(text));
    row_text(row, LOOP_NAME, text);
    text[0] = '\0';
    if (place->label)
        code_location(report->trace, place->label, place->line, text, sizeof(text));
    row_text(row, LOOP_LOCATION, text);
    row_count(row, LOOP_COUNT, place->count);
    row_count(row, LOOP_TOTAL, place->time_ns);
    row_count(row, LOOP_MEAN, place->time_ns / place->count);
    row_count(row, LOOP_MAX, place->max_ns);
    row_count(row, BLOCKED, place->blocked_ns);
}

static int add_loops(struct report *report)
{
    const struct loop_place *places;
    struct table *table = report_add_table(report, "loop_blocks", fill_loop);
    for (size_t i = 0; i < sizeof(columns_loop) / sizeof(*columns_loop); i++)
        table_add_column(table, columns_loop[i]);
    table->row_count = loop_blocks_places(report->loops, &places);
    table->limit = report->options.limit;
    if (table->row_count == 0)
        return 0;
    return report_plain_title(table, "what blocked event loops while other tasks had to wait");
}

static int create_loops(struct report *report)
{
    report->loops = loop_blocks_create(report->trace);
    return report->loops ? 0 : -ENOMEM;
}

static struct sink sink_of_loops(const struct report *report)
{
    return loop_blocks_sink(report->loops, report->samples.present);
}

static int finish_loops(struct report *report)
{
    return loop_blocks_finish(report->loops, report->samples.own);
}

static void destroy_loops(struct report *report)
{
    loop_blocks_destroy(report->loops);
}

const struct report_part report_part_loops = {.create = create_loops,
                                              .sink = sink_of_loops,
                                              .finish = finish_loops,
                                              .add_tables = add_loops,
                                              .destroy = destroy_loops};
