/* SPDX-License-Identifier: MIT */
/* The tables of waits: what threads waited for, and where. */
#include "report_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static void fill_reason(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct sample_stats *inside = &report->samples.inside;
    uint8_t reason = ((const uint8_t *)table->rows)[index];
    bool runnable = reason == WAIT_REASON_COUNT;
    const struct wait_share *wait = runnable ? &inside->runnable : &inside->waits[reason];
    const char *name = runnable ? NULL : wait_reason_name((enum wait_reason)reason);
    row_text(row, REASON_LABEL, runnable ? RUNNABLE : name);
    row_text(row, REASON, runnable ? "runnable" : name);
    row_count(row, COUNT, wait->count);
    row_count(row, TOTAL, wait->total_ns);
    row_count(row, MEAN, wait->count ? wait->total_ns / wait->count : 0);
    row_count(row, MAX, wait->max_ns);
}

/* Those that came up, the longest first; then that for a CPU. */
static uint64_t sort_reasons(const struct report *report, uint8_t *rows)
{
    const struct wait_share *waits = report->samples.inside.waits;
    bool used[WAIT_REASON_COUNT] = {false};
    uint64_t count = 0;
    for (;;) {
        int most = -1;
        for (int i = 0; i < WAIT_REASON_COUNT; i++)
            if (!used[i] && waits[i].count > 0 &&
                (most < 0 || waits[i].total_ns > waits[most].total_ns))
                most = i;
        if (most < 0)
            break;
        used[most] = true;
        rows[count++] = (uint8_t)most;
    }
    rows[count++] = WAIT_REASON_COUNT;
    return count;
}

static int add_reasons(struct report *report)
{
    struct table *table = report_add_table(report, "waits", fill_reason);
    table->rows = calloc(WAIT_REASON_COUNT + 1, sizeof(uint8_t));
    if (!table->rows)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof(reason_columns) / sizeof(*reason_columns); i++)
        table_add_column(table, reason_columns[i]);
    table->columns[SHARE].whole = off_cpu_ns(report);
    table->long_labels = true;
    if (report->samples.inside.stretch_count > 0)
        table->row_count = sort_reasons(report, table->rows);
    return report_title(report, table, "waits: why threads did not run");
}

/* ---- Places ---------------------------------------------------------------------------------- */

enum {
    LABEL,
    FUNCTION,
    KIND,
    MODULE,
    PLACE_REASON_TITLE,
    PLACE_REASON,
    PLACE_COUNT,
    PLACE_TOTAL,
    PLACE_SHARE,
    PLACE_MAX,
    UNFINISHED,
};

static const struct table_column place_columns[] = {
    [LABEL] = {.title = "function", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [PLACE_REASON_TITLE] = {.title = "waited for", .type = COLUMN_TEXT},
    [PLACE_REASON] = {.name = "reason", .type = COLUMN_TEXT},
    [PLACE_COUNT] =
        {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    [PLACE_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [PLACE_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 3, .of = PLACE_TOTAL},
    [PLACE_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
    [UNFINISHED] = {.name = "unfinished", .type = COLUMN_COUNT, .adds_up = true},
};

/* A wait for a CPU may come up anywhere. */
static void fill_runnable(const struct report *report, struct table_row *row)
{
    const struct wait_share *wait = &report->samples.inside.runnable;
    row->role = ROW_REST;
    row->rest = "anywhere";
    row_text(row, PLACE_REASON_TITLE, RUNNABLE);
    row_text(row, PLACE_REASON, "runnable");
    row_count(row, PLACE_COUNT, wait->count);
    row_count(row, PLACE_TOTAL, wait->total_ns);
    row_count(row, PLACE_MAX, wait->max_ns);
}

static void fill_place(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct wait_place *places;
    if (index >= wait_places_sorted(report->samples.places, &places)) {
        fill_runnable(report, row);
        return;
    }
    const struct wait_place *place = &places[index];
    const char *reason = wait_reason_name((enum wait_reason)place->reason);
    if (place->frame)
        report_function_label(report, row, LABEL, place->frame, "");
    else
        row_text(row, LABEL, "(no stack)");
    report_function_cells(report, row, FUNCTION, place->frame);
    row_text(row, PLACE_REASON_TITLE, reason);
    row_text(row, PLACE_REASON, reason);
    row_count(row, PLACE_COUNT, place->count);
    row_count(row, PLACE_TOTAL, place->blocked_ns);
    row_count(row, PLACE_MAX, place->max_ns);
    row_count(row, UNFINISHED, place->unfinished);
}

/* The functions that called what waits; which program did it, their callers tell. */
static int add_places(struct report *report)
{
    struct table *table = report_add_table(report, "wait_places", fill_place);
    const struct wait_place *places = NULL;
    uint64_t unfinished = 0;
    uint32_t count = 0;
    if (report->samples.present)
        count = wait_places_sort(report->samples.places, &places);
    for (uint32_t i = 0; i < count; i++)
        unfinished += places[i].unfinished;
    for (size_t i = 0; i < sizeof(place_columns) / sizeof(*place_columns); i++)
        table_add_column(table, place_columns[i]);
    table->columns[PLACE_SHARE].whole = off_cpu_ns(report);
    table->row_count = count + (report->samples.inside.runnable.count > 0);
    table->limit = report->options.functions;
    table->long_labels = true;
    if (unfinished)
        table_add_note(table, (struct table_note){
                                  .before = "(waits that had not ended when the recording did: ",
                                  .after = ")",
                                  .count = unfinished});
    table_add_note(
        table,
        (struct table_note){.before = "(annot flame --off-cpu shows who called these functions)"});
    return report->samples.off_cpu ? report_title(report, table, "where threads waited") : 0;
}

int report_add_waits(struct report *report)
{
    int rc = add_reasons(report);
    return rc == 0 ? add_places(report) : rc;
}
