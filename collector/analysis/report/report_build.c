/* SPDX-License-Identifier: MIT */
/* See report_build.h. */
#include "report_build.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table *report_add_table(struct report *report, const char *name, table_fill *fill)
{
    assert(report->table_count < REPORT_TABLES_MAX);
    struct table *table = &report->tables[report->table_count++];
    *table = (struct table){.name = name, .fill = fill, .context = report, .limit = UINT64_MAX};
    return table;
}

int report_plain_title(struct table *table, const char *title)
{
    table->title = strdup(title);
    return table->title ? 0 : -ENOMEM;
}

int report_title(const struct report *report, struct table *table, const char *title)
{
    const char *range = report->options.range;
    if (!range)
        return report_plain_title(table, title);
    if (asprintf(&table->title, "%s inside ranges named %s", title, range) >= 0)
        return 0;
    table->title = NULL;
    return -ENOMEM;
}

enum { PROCESSES_COMPARED = 256 };

bool report_has_namesake(const struct trace *trace, uint32_t process)
{
    uint32_t count = trace_process_count(trace);
    char label[512], other[512];
    trace_process_label(trace, process, label, sizeof(label));
    for (uint32_t i = 0; i < count && count <= PROCESSES_COMPARED; i++) {
        trace_process_label(trace, i, other, sizeof(other));
        if (i != process && strcmp(other, label) == 0)
            return true;
    }
    return count > PROCESSES_COMPARED;
}
