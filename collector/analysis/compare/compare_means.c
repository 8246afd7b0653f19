/* SPDX-License-Identifier: MIT */
/* One side by itself: means with their intervals, for a command that was run several times. */
#include "compare_means.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_test.h"
#include "compare_text.h"
#include "table.h"
#include "vec.h"

#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

/* A number of a row over the runs of one side. */
struct number {
    const struct compare_row *row;
    uint32_t kind;
    uint32_t metric;
    bool first; /* of its row */
    double mean, half, median, min, max, size;
    size_t count;
};

struct numbers {
    VEC(struct number) items;
    enum compare_side side;
    const struct compare *compare;
};

static uint8_t unit_of(const struct number *number)
{
    return number->kind == 0 ? number->row->unit
                             : compare_kinds[number->kind].metrics[number->metric].unit;
}

static bool measure(const struct compare *compare, enum compare_side side, struct number *number)
{
    const struct compare_cell cell = {number->kind, number->row, number->metric};
    struct compare_sample values;
    compare_gather(compare, &cell, &values);
    double *of = values.of[side];
    number->count = values.counts[side];
    if (number->count == 0)
        return false;
    struct compare_mean mean = compare_mean((struct compare_group){of, number->count}, LEVEL);
    number->mean = mean.mean;
    number->half = mean.half;
    number->median = compare_middle(of, number->count, LEVEL).median; /* sorts the values */
    number->min = of[0];
    number->max = of[number->count - 1];
    return number->max > 0 || number->min < 0;
}

/* ---- The numbers of a side ------------------------------------------------------------------- */

static bool is_wanted(const struct compare_metric *metric)
{
    return (metric->flags & METRIC_TESTED) && !(metric->flags & METRIC_RELATIVE);
}

static int add_row(struct numbers *numbers, size_t kind, const struct compare_row *row)
{
    const struct compare_metric *metrics = compare_kinds[kind].metrics;
    double size = 0;
    bool first = true;
    for (unsigned i = 0; i < METRICS_MAX && metrics[i].word; i++) {
        struct number number = {.row = row, .kind = (uint32_t)kind, .metric = i, .first = first};
        if (!is_wanted(&metrics[i]) || !measure(numbers->compare, numbers->side, &number))
            continue;
        size = first ? number.median : size;
        number.size = size;
        first = false;
        if (vec_push(&numbers->items, number) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Whole runs in their order; ranges with the most time first, the numbers of a row together. */
static int by_size(const void *left, const void *right)
{
    const struct number *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind > 0 && (a->size < b->size || a->size > b->size))
        return a->size < b->size ? 1 : -1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->metric < b->metric ? -1 : a->metric > b->metric;
}

static int find_numbers(struct numbers *numbers)
{
    static const char *const words[] = {"run", "range", "overlapping", "track"};
    int rc = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && rc == 0; i++) {
        size_t kind = (size_t)(compare_kind_find(words[i], strlen(words[i])) - compare_kinds);
        const struct compare_list *list = &numbers->compare->lists[kind];
        for (size_t row = 0; row < list->rows.count && rc == 0; row++)
            rc = add_row(numbers, kind, &list->rows.items[row]);
    }
    if (rc == 0 && numbers->items.count > 0)
        qsort(numbers->items.items, numbers->items.count, sizeof(*numbers->items.items), by_size);
    return rc;
}

/* ---- The table ------------------------------------------------------------------------------- */

enum {
    LABEL, /* for readers */
    OF,
    MEAN_TEXT,
    HALF_TEXT,
    MEDIAN_TEXT,
    MIN_TEXT,
    MAX_TEXT,
    KIND, /* for programs */
    NAME,
    METRIC,
    UNIT,
    MEAN,
    MEAN_LOW,
    MEAN_HIGH,
    MEDIAN,
    MIN,
    MAX,
    COUNT,
    COLUMNS,
};

static const struct table_column columns[COLUMNS] = {
    [LABEL] = {.title = "run or range", .type = COLUMN_TEXT},
    [OF] = {.title = "of it", .type = COLUMN_TEXT},
    [MEAN_TEXT] = {.title = "mean", .type = COLUMN_TEXT, .right = true},
    [HALF_TEXT] = {.title = "+- (95 %)", .type = COLUMN_TEXT, .right = true},
    [MEDIAN_TEXT] = {.title = "median", .type = COLUMN_TEXT, .right = true},
    [MIN_TEXT] = {.title = "least", .type = COLUMN_TEXT, .right = true},
    [MAX_TEXT] = {.title = "most", .type = COLUMN_TEXT, .right = true, .rank = 1},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [NAME] = {.name = "name", .type = COLUMN_TEXT},
    [METRIC] = {.name = "metric", .type = COLUMN_TEXT},
    [UNIT] = {.name = "unit", .type = COLUMN_TEXT},
    [MEAN] = {.name = "mean", .type = COLUMN_VALUE},
    [MEAN_LOW] = {.name = "mean_low", .type = COLUMN_VALUE},
    [MEAN_HIGH] = {.name = "mean_high", .type = COLUMN_VALUE},
    [MEDIAN] = {.name = "median", .type = COLUMN_VALUE},
    [MIN] = {.name = "min", .type = COLUMN_VALUE},
    [MAX] = {.name = "max", .type = COLUMN_VALUE},
    [COUNT] = {.name = "count", .type = COLUMN_COUNT},
};

static void add_text(struct table_row *row, unsigned column, uint8_t unit, double value)
{
    const struct compare_result like = {.unit = unit};
    char text[COMPARE_TEXT_SIZE];
    row_text(row, column, isfinite(value) ? compare_number_text(&like, value, text) : "-");
}

static void add_value(struct table_row *row, unsigned column, double value)
{
    if (isfinite(value))
        row_value(row, column, value);
    else
        row->cells[column].state = CELL_UNKNOWN;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct number *number = (const struct number *)table->rows + index;
    uint8_t unit = unit_of(number);
    if (row->sums_only)
        return;
    row_text(row, LABEL, number->first ? number->row->name : "");
    row_text(row, OF, number->kind ? compare_kinds[number->kind].metrics[number->metric].word : "");
    add_text(row, MEAN_TEXT, unit, number->mean);
    add_text(row, HALF_TEXT, unit, number->half);
    add_text(row, MEDIAN_TEXT, unit, number->median);
    add_text(row, MIN_TEXT, unit, number->min);
    add_text(row, MAX_TEXT, unit, number->max);
    row_text(row, KIND, compare_kinds[number->kind].word);
    row_text(row, NAME, number->row->name);
    row_text(row, METRIC, compare_kinds[number->kind].metrics[number->metric].word);
    row_text(row, UNIT, compare_unit_name(unit));
    add_value(row, MEAN, number->mean);
    add_value(row, MEAN_LOW, number->mean - number->half);
    add_value(row, MEAN_HIGH, number->mean + number->half);
    add_value(row, MEDIAN, number->median);
    add_value(row, MIN, number->min);
    add_value(row, MAX, number->max);
    row_count(row, COUNT, number->count);
}

int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table)
{
    struct numbers numbers = {.side = side, .compare = compare};
    int rc = find_numbers(&numbers);
    *ret_table = (struct table){.name = side == COMPARE_A ? "stat_a" : "stat_b", .fill = fill};
    ret_table->rows = numbers.items.items;
    ret_table->row_count = numbers.items.count;
    ret_table->limit = limit;
    ret_table->tells_hidden = true;
    ret_table->long_labels = true;
    for (unsigned i = 0; i < COLUMNS; i++)
        table_add_column(ret_table, columns[i]);
    return rc;
}

size_t compare_run_text(const struct compare *compare, enum compare_side side, const char *name,
                        char *buffer, size_t size)
{
    const struct compare_list *list = &compare->lists[0];
    struct text text = text_init(buffer, size);
    for (size_t i = 0; i < list->rows.count; i++) {
        struct number number = {.row = &list->rows.items[i]};
        const struct compare_result like = {.unit = number.row->unit};
        char mean[COMPARE_TEXT_SIZE], half[COMPARE_TEXT_SIZE], median[COMPARE_TEXT_SIZE],
            min[COMPARE_TEXT_SIZE];
        if (strcmp(number.row->name, name) != 0 || !measure(compare, side, &number))
            continue;
        text_format(&text, "%s +- %s, median %s, least %s",
                    compare_number_text(&like, number.mean, mean),
                    isfinite(number.half) ? compare_number_text(&like, number.half, half) : "?",
                    compare_number_text(&like, number.median, median),
                    compare_number_text(&like, number.min, min));
    }
    return text.length;
}
