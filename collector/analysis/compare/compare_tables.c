/* SPDX-License-Identifier: MIT */
/* The tables of a comparison, for the printers of reports: one for each kind of rows, and that of
 * the runs. */
#include "compare_parts.h"

#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

/* "1.23", "45.6", "789", "12345": three digits that count. */
static const char *digits(double value, const char *unit, char *buffer)
{
    double size = fabs(value);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(buffer, COMPARE_TEXT_SIZE, "%.*f%s", decimals, value, unit);
    return buffer;
}

/* Of any sign, unlike those of number.h. */
static const char *unit_text(double value, uint8_t unit, char *buffer)
{
    static const struct {
        double size;
        const char *name;
    } times[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}},
      bytes[] = {{0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"}};

    int at = 0;
    if (unit != COLUMN_TIME && unit != COLUMN_BYTES) {
        snprintf(buffer, COMPARE_TEXT_SIZE, "%.4g", value);
        return buffer;
    }
    while (at < 3 && fabs(value) < (unit == COLUMN_TIME ? times : bytes)[at].size)
        at++;
    double size = (unit == COLUMN_TIME ? times : bytes)[at].size;
    const char *name = (unit == COLUMN_TIME ? times : bytes)[at].name;
    if (at == 3 || value == 0)
        snprintf(buffer, COMPARE_TEXT_SIZE, value == 0 ? "0" : "%.0f%s", value, name);
    else
        digits(value / size, name, buffer);
    return buffer;
}

const char *compare_number_text(const struct compare_result *result, double value, char *buffer)
{
    return isnan(value) ? "-" : unit_text(value, result->unit, buffer);
}

/* "+3.1", without the unit; of large ones no more than people want to know. */
static void put_percent(double part, char *buffer, size_t size)
{
    double percent = 100 * part;
    int decimals = fabs(percent) >= 9.95 ? 0 : fabs(percent) >= 0.995 ? 1 : 2;
    if (percent == 0)
        snprintf(buffer, size, "0");
    else if (fabs(percent) >= 9999)
        snprintf(buffer, size, percent > 0 ? ">+9999" : "<-9999");
    else
        snprintf(buffer, size, "%+.*f", decimals, percent);
}

static bool is_relative(const struct compare_result *result)
{
    return !isnan(result->a) && result->a != 0;
}

static double part_of(const struct compare_result *result, double value)
{
    return value / fabs(result->a);
}

const char *compare_change_text(const struct compare_result *result, char *buffer)
{
    char text[COMPARE_TEXT_SIZE / 2];
    if (isnan(result->shift))
        return "";
    if (is_relative(result)) {
        put_percent(part_of(result, result->shift), text, sizeof(text));
        snprintf(buffer, COMPARE_TEXT_SIZE, "%s %%", text);
        return buffer;
    }
    buffer[0] = '+';
    unit_text(result->shift, result->unit, buffer + (result->shift > 0));
    return buffer;
}

const char *compare_interval_text(const struct compare_result *result, char *buffer)
{
    char low[COMPARE_TEXT_SIZE / 3], high[COMPARE_TEXT_SIZE / 3];
    if (isnan(result->low) || !is_relative(result))
        return "";
    if (isinf(result->low) && isinf(result->high))
        return "not known";
    put_percent(part_of(result, result->low), low, sizeof(low));
    put_percent(part_of(result, result->high), high, sizeof(high));
    snprintf(buffer, COMPARE_TEXT_SIZE, "%s to %s %%", low, isinf(result->high) ? "any" : high);
    return buffer;
}

const char *compare_verdict_text(const struct compare_result *result)
{
    bool time = result->unit == COLUMN_TIME;
    switch ((enum compare_verdict)result->verdict) {
    case COMPARE_MORE:
        return time ? "slower" : "more";
    case COMPARE_LESS:
        return time ? "faster" : "less";
    case COMPARE_SAME:
        return "same";
    case COMPARE_ONE_RUN:
        return "one run";
    case COMPARE_UNTESTED:
        return "small";
    case COMPARE_NEW:
        return "new";
    case COMPARE_GONE:
        return "gone";
    default:
        return "unsure";
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum {
    LABEL, /* of people */
    OF,
    PLACE,
    A_TEXT,
    B_TEXT,
    CHANGE_TEXT,
    INTERVAL_TEXT,
    NAME, /* of programs */
    METRIC,
    UNIT,
    A_NUMBER,
    B_NUMBER,
    DIFFERENCE,
    LOW,
    HIGH,
    CHANGE,
    P,
    ADJUSTED,
    A_COUNT,
    B_COUNT,
    VERDICT,
    COLUMNS,
};

static const struct table_column columns[COLUMNS] = {
    [LABEL] = {.title = "", .type = COLUMN_TEXT},
    [OF] = {.title = "of it", .type = COLUMN_TEXT},
    [PLACE] = {.name = "place", .title = "where", .type = COLUMN_TEXT, .rank = 9},
    [A_TEXT] = {.title = "A", .type = COLUMN_TEXT, .right = true},
    [B_TEXT] = {.title = "B", .type = COLUMN_TEXT, .right = true},
    [CHANGE_TEXT] = {.title = "change", .type = COLUMN_TEXT, .right = true},
    [INTERVAL_TEXT] = {.title = "95 % interval", .type = COLUMN_TEXT, .right = true},
    [NAME] = {.name = "name", .type = COLUMN_TEXT},
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
    [A_COUNT] = {.name = "a_count", .type = COLUMN_COUNT},
    [B_COUNT] = {.name = "b_count", .type = COLUMN_COUNT},
    [VERDICT] = {.name = "verdict", .title = "verdict", .type = COLUMN_TEXT},
};

const char *compare_unit_name(uint8_t unit)
{
    return unit == COLUMN_TIME    ? "ns"
           : unit == COLUMN_BYTES ? "bytes"
           : unit == COLUMN_COUNT ? "count"
                                  : "value";
}

/* Numbers that are not known are left out, as JSON has no way to write them. */
static void add_value(struct table_row *row, unsigned column, double value)
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
    row_text(row, LABEL, again ? "" : result->name);
    row_text(row, OF, metric_title(result));
    row_text(row, A_TEXT, compare_number_text(result, result->a, text));
    row_text(row, B_TEXT, compare_number_text(result, result->b, text));
    row_text(row, CHANGE_TEXT, compare_change_text(result, text));
    row_text(row, INTERVAL_TEXT, compare_interval_text(result, text));
}

/* What the table's rows are made by: results of a kind in the order in which they are shown. */
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
    row_text(row, PLACE, result->place);
    row_text(row, METRIC, result->metric);
    row_text(row, UNIT, compare_unit_name(result->unit));
    add_value(row, A_NUMBER, result->a);
    add_value(row, B_NUMBER, result->b);
    add_value(row, DIFFERENCE, result->shift);
    add_value(row, LOW, result->low);
    add_value(row, HIGH, result->high);
    add_value(row, CHANGE, is_relative(result) ? part_of(result, result->shift) : NAN);
    add_value(row, P, result->p);
    add_value(row, ADJUSTED, result->adjusted);
    row_count(row, A_COUNT, result->a_count);
    row_count(row, B_COUNT, result->b_count);
    row_text(row, VERDICT, compare_verdict_text(result));
}

/* ---- Order: rows with something sure first, then by the time that they take -------------------
 */

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
    double a = isnan(result->a) ? 0 : fabs(result->a), b = isnan(result->b) ? 0 : fabs(result->b);
    group->count++;
    group->sure = group->sure || is_sure(result);
    group->size = fmax(group->size, a > b ? a : b);
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
    unsigned metrics = tested_metrics(kind);
    struct table *table = &compare->tables[compare->table_count];
    struct rows *rows = malloc(sizeof(*rows) + list->results.count * sizeof(*rows->order));
    if (!rows)
        return -ENOMEM;
    *table = (struct table){.name = kind->table ? kind->table : "runs", .fill = fill};
    table->rows = rows;
    rows->list = list;
    table->row_count = list->results.count;
    table->limit = compare->limit == UINT64_MAX ? UINT64_MAX : compare->limit * metrics;
    table->long_labels = true;
    table->tells_hidden = true;
    table->title = strdup(kind->title);
    for (unsigned i = 0; i < COLUMNS; i++)
        table_add_column(table, columns[i]);
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
