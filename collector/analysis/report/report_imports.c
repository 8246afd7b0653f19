/* SPDX-License-Identifier: MIT */
/* The table of imports of Python modules, which pyannot makes ranges of: a row per module, whatever
 * imported it. By path they would outnumber the program's own ranges. An import is a range
 * "import MODULE" of OBSERVER_IMPORT. */
#include "report_parts.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_SIZE = 128, ROWS_SHOWN = 10 };

struct module {
    char name[MODULE_SIZE];
    uint64_t count, total_ns, self_ns;
};

struct modules {
    VEC(struct module) rows;
};

/* The module that a row's range imports, or NULL. */
static const char *module_of(const struct range_stats *stats, uint32_t index)
{
    const size_t length = sizeof(OBSERVER_IMPORT_PREFIX) - 1;
    const char *domain, *name = range_stats_name(stats, index, &domain);
    if (range_stats_observer(stats, index) != OBSERVER_IMPORT)
        return NULL;
    return strncmp(name, OBSERVER_IMPORT_PREFIX, length) == 0 ? name + length : name;
}

bool report_row_is_observed(const struct range_stats *stats, uint32_t index)
{
    switch (range_stats_observer(stats, index)) {
    case OBSERVER_SELFTEST:
    case OBSERVER_GC:
    case OBSERVER_IMPORT:
    case OBSERVER_POOL:
    case OBSERVER_ASYNCIO:
    case OBSERVER_SUBPROCESS:
        return true;
    default:
        return false;
    }
}

/* The row of the innermost import that has nothing of the program inside on the way to this row. */
static uint32_t import_of(const struct range_stats *stats, uint32_t index)
{
    while (index != RANGE_NO_ROW && report_row_is_observed(stats, index) &&
           !module_of(stats, index))
        index = range_stats_parent(stats, index);
    return index != RANGE_NO_ROW && module_of(stats, index) ? index : RANGE_NO_ROW;
}

bool report_row_is_import(const struct range_stats *stats, uint32_t index)
{
    return import_of(stats, index) != RANGE_NO_ROW;
}

const char *report_longest_import(const struct range_stats *stats, uint64_t *ret_total_ns)
{
    const char *longest = NULL;
    *ret_total_ns = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        const char *module = row->kind == RANGE_PUSHED ? module_of(stats, i) : NULL;
        if (!module || row->total_ns <= *ret_total_ns)
            continue;
        longest = module;
        *ret_total_ns = row->total_ns;
    }
    return longest;
}

static int add_row(struct modules *modules, const struct range_stats *stats, uint32_t index)
{
    struct module module = {0};
    const struct range_row *row = range_stats_row(stats, index);
    uint32_t import = row->kind == RANGE_PUSHED ? import_of(stats, index) : RANGE_NO_ROW;
    if (import == RANGE_NO_ROW)
        return 0;
    struct text name = text_init(module.name, sizeof(module.name));
    text_format(&name, "%s", module_of(stats, import));
    if (import == index) {
        module.count = row->count;
        module.total_ns = row->total_ns;
    }
    module.self_ns = row->self_ns;
    return vec_push(&modules->rows, module);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct module *)a)->name, ((const struct module *)b)->name);
}

static int by_self(const void *a, const void *b)
{
    const struct module *one = a, *other = b;
    if (one->self_ns != other->self_ns)
        return one->self_ns < other->self_ns ? 1 : -1;
    return by_name(a, b);
}

/* One row per module. */
static void merge(struct modules *modules)
{
    struct module *rows = modules->rows.items;
    size_t kept = 0;
    if (modules->rows.count == 0)
        return;
    qsort(rows, modules->rows.count, sizeof(*rows), by_name);
    for (size_t i = 1; i < modules->rows.count; i++) {
        if (strcmp(rows[kept].name, rows[i].name) != 0) {
            rows[++kept] = rows[i];
            continue;
        }
        rows[kept].count += rows[i].count;
        rows[kept].total_ns += rows[i].total_ns;
        rows[kept].self_ns += rows[i].self_ns;
    }
    modules->rows.count = kept + 1;
    qsort(rows, modules->rows.count, sizeof(*rows), by_self);
}

enum { MODULE, COUNT, TOTAL, SELF };

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct module *module = (const struct module *)table->rows + index;
    row_text(row, MODULE, module->name);
    row_count(row, COUNT, module->count);
    row_count(row, TOTAL, module->total_ns);
    row_count(row, SELF, module->self_ns);
}

static const struct table_column columns[] = {
    {.name = "module", .title = "module", .type = COLUMN_TEXT},
    {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1},
    {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    {.name = "self_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    {.title = "share", .type = COLUMN_SHARE, .of = SELF},
};

int report_add_imports(struct report *report)
{
    struct table *table = report_add_table(report, "imports", fill);
    struct modules modules = {0};
    uint64_t limit = report->options.limit;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < range_stats_row_count(report->stats); i++)
        rc = add_row(&modules, report->stats, i);
    merge(&modules);
    table->rows = modules.rows.items;
    table->row_count = modules.rows.count;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SELF + 1].whole = (uint64_t)report->facts.totals->wall_ns;
    table->has_sum = true;
    table->limit = limit == UINT64_MAX || limit < ROWS_SHOWN ? limit : ROWS_SHOWN;
    return rc < 0 ? rc
                  : report_plain_title(
                        table, "imports of Python modules (self: without those that they import)");
}
