/* SPDX-License-Identifier: MIT */
/* See report_imports.h. An import is a range "import MODULE" of the domain "python". */
#include "report_imports.h"

#include "number_text.h"
#include "table.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_SIZE = 128, ROWS_SHOWN = 10 };

#define OBSERVED "python"
#define IMPORT   "import "

struct module {
    char name[MODULE_SIZE];
    uint64_t count, total_ns, self_ns;
};

struct modules {
    VEC(struct module) rows;
    uint64_t self_ns;
};

/* The module that a row's range imports, or NULL. */
static const char *module_of(const struct range_stats *stats, uint32_t index)
{
    const char *domain, *name = range_stats_name(stats, index, &domain);
    bool imports =
        name && strcmp(domain, OBSERVED) == 0 && strncmp(name, IMPORT, sizeof(IMPORT) - 1) == 0;
    return imports ? name + sizeof(IMPORT) - 1 : NULL;
}

bool report_row_is_observed(const struct range_stats *stats, uint32_t index)
{
    const char *domain, *name = range_stats_name(stats, index, &domain);
    return name && strcmp(domain, OBSERVED) == 0;
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

static int add_row(struct modules *modules, const struct range_stats *stats, uint32_t index)
{
    struct module module = {0};
    const struct range_row *row = range_stats_row(stats, index);
    uint32_t import = row->kind == RANGE_PUSHED ? import_of(stats, index) : RANGE_NO_ROW;
    if (import == RANGE_NO_ROW)
        return 0;
    snprintf(module.name, sizeof(module.name), "%s", module_of(stats, import));
    if (import == index) {
        module.count = row->count;
        module.total_ns = row->total_ns;
    }
    module.self_ns = row->self_ns;
    modules->self_ns += row->self_ns;
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

static const struct table_column columns[] = {
    {"module", 0, true}, {"count", 1, false}, {"total", 0, false},
    {"self", 0, false},  {"share", 0, false},
};

static void fill(struct table *table, const struct modules *modules, uint64_t wall_ns,
                 uint64_t limit)
{
    char text[NUMBER_TEXT_SIZE + 16], count[NUMBER_TEXT_SIZE];
    uint64_t rest_ns = modules->self_ns;
    size_t shown = modules->rows.count < limit ? modules->rows.count : (size_t)limit;
    for (size_t i = 0; i < shown; i++) {
        const struct module *row = &modules->rows.items[i];
        table_add(table, row->name);
        table_add_count(table, row->count);
        table_add_time(table, row->total_ns);
        table_add_time(table, row->self_ns);
        table_add_percent(table, row->self_ns, wall_ns);
        rest_ns -= row->self_ns;
    }
    snprintf(text, sizeof(text), "(%s more)", number_count(modules->rows.count - shown, count));
    for (int sum = shown < modules->rows.count ? 0 : 1; sum < 2; sum++) {
        table_add(table, sum ? "(sum)" : text);
        table_add(table, "");
        table_add(table, "");
        table_add_time(table, sum ? modules->self_ns : rest_ns);
        table_add_percent(table, sum ? modules->self_ns : rest_ns, wall_ns);
    }
}

int report_imports_print(const struct report_table_options *options)
{
    struct modules modules = {0};
    size_t hidden;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < range_stats_row_count(options->stats); i++)
        rc = add_row(&modules, options->stats, i);
    merge(&modules);
    struct table *table = NULL;
    if (rc == 0 && modules.rows.count > 0) {
        uint64_t limit = options->limit == UINT64_MAX || options->limit < ROWS_SHOWN
                             ? options->limit
                             : ROWS_SHOWN;
        table = table_create(columns, sizeof(columns) / sizeof(*columns));
        rc = table ? 0 : -ENOMEM;
        if (table)
            fill(table, &modules, (uint64_t)range_stats_totals(options->stats)->wall_ns, limit);
    }
    if (table) {
        printf("\nimports of Python modules (self: without those that they import)\n");
        rc = table_print(table, options->width, options->color, &hidden);
    }
    table_destroy(table);
    vec_free(&modules.rows);
    return rc;
}
