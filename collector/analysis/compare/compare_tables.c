/* SPDX-License-Identifier: MIT */
/* The tables of a comparison, for the printers of reports: one for each kind of rows, including
 * runs. */
#include "compare_tables.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_text.h"
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Columns --------------------------------------------------------------------------------- */

/* The columns of tables that compare two sides. */

static const struct table_column side_columns[COMPARE_COLUMNS] = {
    [LABEL] = {.title = "", .type = COLUMN_TEXT},
    [OF] = {.title = "of it", .type = COLUMN_TEXT},
    [PLACE] = {.name = "place", .title = "where", .type = COLUMN_TEXT, .rank = 3},
    [A_TEXT] = {.title = "A", .type = COLUMN_TEXT, .right = true},
    [B_TEXT] = {.title = "B", .type = COLUMN_TEXT, .right = true},
    [DIFFERENCE_TEXT] = {.title = "difference", .type = COLUMN_TEXT, .right = true},
    [CHANGE_TEXT] = {.title = "change", .type = COLUMN_TEXT, .right = true},
    [INTERVAL_TEXT] = {.title = "95 % interval", .type = COLUMN_TEXT, .rank = 1, .right = true},
    [TIMES_TEXT] = {.title = "times", .type = COLUMN_TEXT, .rank = 2, .rare = true, .right = true},
    [EACH_TEXT] = {.title = "each", .type = COLUMN_TEXT, .rank = 1, .rare = true, .right = true},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [NAME] = {.name = "name", .type = COLUMN_TEXT},
    [OLD_NAME] = {.name = "a_name", .type = COLUMN_TEXT},
    [METRIC] = {.name = "metric", .type = COLUMN_TEXT},
    [UNIT] = {.name = "unit", .type = COLUMN_TEXT},
    [A_NUMBER] = {.name = "a", .type = COLUMN_VALUE},
    [B_NUMBER] = {.name = "b", .type = COLUMN_VALUE},
    [DIFFERENCE] = {.name = "difference", .type = COLUMN_VALUE},
    [LOW] = {.name = "low", .type = COLUMN_VALUE},
    [HIGH] = {.name = "high", .type = COLUMN_VALUE},
    [CHANGE] = {.name = "change", .type = COLUMN_VALUE},
    [P] = {.name = "p", .type = COLUMN_VALUE},
    [ADJUSTED] = {.name = "p_adjusted", .type = COLUMN_VALUE},
    [CHANCE] = {.name = "may_be_chance", .type = COLUMN_FLAG},
    [A_COUNT] = {.name = "a_count", .type = COLUMN_COUNT},
    [B_COUNT] = {.name = "b_count", .type = COLUMN_COUNT},
    [VERDICT] = {.name = "verdict", .title = "verdict", .type = COLUMN_TEXT},
};

_Static_assert(COMPARE_COLUMNS <= 32 && (int)COMPARE_COLUMNS <= (int)TABLE_COLUMNS_MAX, "bits");

void compare_add_columns(struct table *table, uint32_t shown)
{
    for (unsigned i = 0; i < COMPARE_COLUMNS; i++) {
        struct table_column column = side_columns[i];
        if (!(shown & 1u << i))
            column.name = column.title = NULL;
        table_add_column(table, column);
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const uint32_t columns =
    1u << LABEL | 1u << OF | 1u << PLACE | 1u << A_TEXT | 1u << B_TEXT | 1u << CHANGE_TEXT |
    1u << INTERVAL_TEXT | 1u << NAME | 1u << OLD_NAME | 1u << METRIC | 1u << UNIT | 1u << A_NUMBER |
    1u << B_NUMBER | 1u << DIFFERENCE | 1u << LOW | 1u << HIGH | 1u << CHANGE | 1u << P |
    1u << ADJUSTED | 1u << A_COUNT | 1u << B_COUNT | 1u << VERDICT;

void compare_put_value(struct table_row *row, unsigned column, double value)
{
    if (isfinite(value))
        row_value(row, column, value);
    else
        row->cells[column].state = CELL_UNKNOWN;
}

static const char *metric_title(const struct compare_result *result)
{
    return strcmp(result->metric, "relative") == 0 ? "at equal speed" : result->metric;
}

static void fill_people(struct table_row *row, const struct compare_result *result, bool again)
{
    char text[COMPARE_TEXT_SIZE];
    char label[1024];
    snprintf(label, sizeof(label), "%.400s%s%.400s", result->old_name ? result->old_name : "",
             result->old_name ? " \xe2\x86\x92 " : "", result->name);
    row_text(row, LABEL, again ? "" : label);
    row_text(row, OF, metric_title(result));
    row_text(row, A_TEXT, compare_number_text(result, result->a, text));
    row_text(row, B_TEXT, compare_number_text(result, result->b, text));
    row_text(row, CHANGE_TEXT, compare_change_text(result, text));
    row_text(row, INTERVAL_TEXT, compare_interval_text(result, text));
}

/* The rows of a table: results of a kind in display order. */
struct rows {
    const struct compare_list *list;
    uint32_t order[];
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct rows *rows = table->rows;
    const struct compare_result *results = rows->list->results.items;
    const struct compare_result *result = &results[rows->order[index]];
    const struct compare_result *before = index > 0 ? &results[rows->order[index - 1]] : NULL;
    bool small = result->verdict == COMPARE_UNTESTED;
    row->role = small ? ROW_MINOR : ROW_PLAIN;
    if (row->sums_only)
        return;
    fill_people(row, result,
                before && before->name == result->name && before->place == result->place);
    row_text(row, NAME, result->name);
    row_text(row, OLD_NAME, result->old_name ? result->old_name : "");
    row_text(row, PLACE, result->place);
    row_text(row, METRIC, result->metric);
    row_text(row, UNIT, compare_unit_name(result->unit));
    compare_put_value(row, A_NUMBER, result->a);
    compare_put_value(row, B_NUMBER, result->b);
    compare_put_value(row, DIFFERENCE, result->shift);
    compare_put_value(row, LOW, result->low);
    compare_put_value(row, HIGH, result->high);
    compare_put_value(row, CHANGE, fabs(result->a) > 0 ? result->shift / fabs(result->a) : NAN);
    compare_put_value(row, P, result->p);
    compare_put_value(row, ADJUSTED, result->adjusted);
    row_count(row, A_COUNT, result->a_count);
    row_count(row, B_COUNT, result->b_count);
    row_text(row, VERDICT, compare_verdict_text(result));
}

/* ---- Order: rows with sure results first, then by their change ------------------------------- */

struct group {
    uint32_t first, count;
    bool sure;
    double size;
};

static int by_weight(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->sure != b->sure)
        return a->sure ? -1 : 1;
    if (a->size > b->size || a->size < b->size)
        return a->size > b->size ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static bool is_sure(const struct compare_result *result)
{
    return result->verdict == COMPARE_MORE || result->verdict == COMPARE_LESS ||
           result->verdict == COMPARE_NEW || result->verdict == COMPARE_GONE;
}

static void add_result(struct group *group, const struct compare_result *result)
{
    double a = isnan(result->a) ? 0 : result->a, b = isnan(result->b) ? 0 : result->b;
    group->sure = group->sure || is_sure(result);
    if (group->count++ == 0) /* the total */
        group->size = fabs(b - a);
}

/* 0 or -ENOMEM. */
static int put_in_order(const struct compare_list *list, uint32_t *order)
{
    const struct compare_result *results = list->results.items;
    struct group *groups = calloc(list->results.count + 1, sizeof(*groups));
    size_t count = 0, at = 0;
    if (!groups)
        return -ENOMEM;
    for (uint32_t i = 0; i < list->results.count; i++) {
        bool same = i > 0 && results[i].name == results[i - 1].name &&
                    results[i].place == results[i - 1].place;
        if (!same)
            groups[count++] = (struct group){.first = i};
        add_result(&groups[count - 1], &results[i]);
    }
    if (list->results.count > 0 && strcmp(results[0].kind, "run") != 0)
        qsort(groups, count, sizeof(*groups), by_weight);
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < groups[i].count; j++)
            order[at++] = groups[i].first + j;
    free(groups);
    return 0;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static unsigned tested_metrics(const struct compare_kind *kind)
{
    unsigned count = 0;
    for (int i = 0; i < METRICS_MAX && kind->metrics[i].word; i++)
        count += (kind->metrics[i].flags & METRIC_TESTED) != 0;
    return count;
}

static int add_table(struct compare *compare, size_t index)
{
    const struct compare_kind *kind = &compare_kinds[index];
    const struct compare_list *list = &compare->lists[index];
    const char *name = kind->result ? kind->result : kind->table ? kind->table : "runs";
    unsigned metrics = tested_metrics(kind);
    struct table *table = &compare->tables[compare->table_count];
    struct rows *rows = malloc(sizeof(*rows) + list->results.count * sizeof(*rows->order));
    if (!rows)
        return -ENOMEM;
    *table = (struct table){.name = name, .fill = fill};
    table->rows = rows;
    rows->list = list;
    table->row_count = list->results.count;
    table->limit = compare->limit == UINT64_MAX ? UINT64_MAX : compare->limit * metrics;
    table->long_labels = true;
    table->tells_hidden = true;
    table->title = strdup(kind->title);
    compare_add_columns(table, columns);
    table->columns[PLACE].rank = 9;
    table->columns[INTERVAL_TEXT].rank = 0;
    table->columns[LABEL].title = kind->label;
    if (metrics < 2)
        table->columns[OF].title = NULL;
    if (!kind->place)
        table->columns[PLACE].title = NULL;
    compare->table_count++;
    return table->title ? put_in_order(list, rows->order) : -ENOMEM;
}

int compare_tables(struct compare *compare, uint64_t limit, const struct table **ret_tables)
{
    compare->limit = limit;
    for (size_t i = 0; i < compare->table_count; i++)
        table_fini(&compare->tables[i]);
    compare->table_count = 0;
    for (size_t kind = 0; kind < compare_kind_count; kind++) {
        int rc = compare->lists[kind].results.count > 0 ? add_table(compare, kind) : 0;
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < compare->table_count; i++)
        ret_tables[i] = &compare->tables[i];
    return (int)compare->table_count;
}
