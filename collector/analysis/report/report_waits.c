/* SPDX-License-Identifier: MIT */
/* The table of waits: what threads waited for. Where they did: report_own.c. */

#include "report_parts.h"

#include <errno.h>
#include <stdlib.h>

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

int report_add_waits(struct report *report)
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
