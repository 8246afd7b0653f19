/* SPDX-License-Identifier: MIT */
/* Commands that were run several times: each by itself, and several variants in one table, a row
 * each, compared with the first. */
#include "compare_variants.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_tables.h"
#include "compare_test.h"
#include "compare_text.h"
#include "table.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

/* ---- One side by itself ---------------------------------------------------------------------- */

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

/* ---- The table of a side
 * ------------------------------------------------------------------------------- */

enum {
    SIDE_LABEL, /* for readers */
    SIDE_OF,
    SIDE_MEAN_TEXT,
    SIDE_HALF_TEXT,
    SIDE_MEDIAN_TEXT,
    SIDE_MIN_TEXT,
    SIDE_MAX_TEXT,
    SIDE_KIND, /* for programs */
    SIDE_NAME,
    SIDE_METRIC,
    SIDE_UNIT,
    SIDE_MEAN,
    SIDE_MEAN_LOW,
    SIDE_MEAN_HIGH,
    SIDE_MEDIAN,
    SIDE_MIN,
    SIDE_MAX,
    SIDE_COUNT,
    SIDE_COLUMNS,
};

static const struct table_column side_columns[SIDE_COLUMNS] = {
    [SIDE_LABEL] = {.title = "run or range", .type = COLUMN_TEXT},
    [SIDE_OF] = {.title = "of it", .type = COLUMN_TEXT},
    [SIDE_MEAN_TEXT] = {.title = "mean", .type = COLUMN_TEXT, .right = true},
    [SIDE_HALF_TEXT] = {.title = "+- (95 %)", .type = COLUMN_TEXT, .right = true},
    [SIDE_MEDIAN_TEXT] = {.title = "median", .type = COLUMN_TEXT, .right = true},
    [SIDE_MIN_TEXT] = {.title = "least", .type = COLUMN_TEXT, .right = true},
    [SIDE_MAX_TEXT] = {.title = "most", .type = COLUMN_TEXT, .right = true, .rank = 1},
    [SIDE_KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [SIDE_NAME] = {.name = "name", .type = COLUMN_TEXT},
    [SIDE_METRIC] = {.name = "metric", .type = COLUMN_TEXT},
    [SIDE_UNIT] = {.name = "unit", .type = COLUMN_TEXT},
    [SIDE_MEAN] = {.name = "mean", .type = COLUMN_VALUE},
    [SIDE_MEAN_LOW] = {.name = "mean_low", .type = COLUMN_VALUE},
    [SIDE_MEAN_HIGH] = {.name = "mean_high", .type = COLUMN_VALUE},
    [SIDE_MEDIAN] = {.name = "median", .type = COLUMN_VALUE},
    [SIDE_MIN] = {.name = "min", .type = COLUMN_VALUE},
    [SIDE_MAX] = {.name = "max", .type = COLUMN_VALUE},
    [SIDE_COUNT] = {.name = "count", .type = COLUMN_COUNT},
};

static void add_text(struct table_row *row, unsigned column, uint8_t unit, double value)
{
    const struct compare_result like = {.unit = unit};
    char text[COMPARE_TEXT_SIZE];
    row_text(row, column, isfinite(value) ? compare_number_text(&like, value, text) : "-");
}

static void fill_side(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct number *number = (const struct number *)table->rows + index;
    uint8_t unit = unit_of(number);
    if (row->sums_only)
        return;
    row_text(row, SIDE_LABEL, number->first ? number->row->name : "");
    row_text(row, SIDE_OF,
             number->kind ? compare_kinds[number->kind].metrics[number->metric].word : "");
    add_text(row, SIDE_MEAN_TEXT, unit, number->mean);
    add_text(row, SIDE_HALF_TEXT, unit, number->half);
    add_text(row, SIDE_MEDIAN_TEXT, unit, number->median);
    add_text(row, SIDE_MIN_TEXT, unit, number->min);
    add_text(row, SIDE_MAX_TEXT, unit, number->max);
    row_text(row, SIDE_KIND, compare_kinds[number->kind].word);
    row_text(row, SIDE_NAME, number->row->name);
    row_text(row, SIDE_METRIC, compare_kinds[number->kind].metrics[number->metric].word);
    row_text(row, SIDE_UNIT, compare_unit_name(unit));
    compare_put_value(row, SIDE_MEAN, number->mean);
    compare_put_value(row, SIDE_MEAN_LOW, number->mean - number->half);
    compare_put_value(row, SIDE_MEAN_HIGH, number->mean + number->half);
    compare_put_value(row, SIDE_MEDIAN, number->median);
    compare_put_value(row, SIDE_MIN, number->min);
    compare_put_value(row, SIDE_MAX, number->max);
    row_count(row, SIDE_COUNT, number->count);
}

int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table)
{
    struct numbers numbers = {.side = side, .compare = compare};
    int rc = find_numbers(&numbers);
    *ret_table = (struct table){.name = side == COMPARE_A ? "stat_a" : "stat_b", .fill = fill_side};
    ret_table->rows = numbers.items.items;
    ret_table->row_count = numbers.items.count;
    ret_table->limit = limit;
    ret_table->tells_hidden = true;
    ret_table->long_labels = true;
    for (unsigned i = 0; i < SIDE_COLUMNS; i++)
        table_add_column(ret_table, side_columns[i]);
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

/* ---- Several variants ------------------------------------------------------------------------ */

enum { RANGES_SHOWN = 3, NAME_ROOM = 64 };

/* The data of the table's rows. */
struct variant_rows {
    const struct compare_variant *variants;
    const struct compare_parameters *parameters;
    size_t count;
    const char *ranges[RANGES_SHOWN]; /* names of those with the most time */
    unsigned range_count, first;      /* first: the column after the parameters */
    char titles[RANGES_SHOWN][NAME_ROOM];
};

/* ---- Numbers --------------------------------------------------------------------------------- */

struct summary {
    double median, min, max, spread; /* half of the interquartile range of the runs */
    size_t count;
};

static struct summary summary_of(const struct compare_variant *variant,
                                 const struct compare_cell *cell)
{
    struct compare_sample values;
    struct summary summary = {NAN, NAN, NAN, NAN, 0};
    compare_gather(variant->compare, cell, &values);
    double *of = values.of[variant->side];
    size_t count = values.counts[variant->side];
    if (count == 0)
        return summary;
    summary.median = compare_middle(of, count, LEVEL).median; /* sorts the values */
    summary.min = of[0];
    summary.max = of[count - 1];
    summary.spread = (of[count - 1 - count / 4] - of[count / 4]) / 2;
    summary.count = count;
    return summary;
}

static const struct compare_row *find_row(const struct compare *compare, size_t kind,
                                          const char *name)
{
    const struct compare_list *list = &compare->lists[kind];
    for (size_t i = 0; i < list->rows.count; i++)
        if (strcmp(list->rows.items[i].name, name) == 0)
            return &list->rows.items[i];
    return NULL;
}

static struct summary number_of(const struct compare_variant *variant, size_t kind,
                                const char *name)
{
    const struct compare_row *row = find_row(variant->compare, kind, name);
    const struct compare_cell cell = {kind, row, 0};
    return row ? summary_of(variant, &cell) : (struct summary){NAN, NAN, NAN, NAN, 0};
}

/* Returns the result of the wall time against the first variant; NULL: it is the first. */
static const struct compare_result *change_of(const struct compare_variant *variant)
{
    const struct compare_result *results;
    size_t count = compare_results(variant->compare, "run", &results);
    for (size_t i = 0; i < count && variant->side == COMPARE_B; i++)
        if (strcmp(results[i].name, "wall") == 0)
            return &results[i];
    return NULL;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum {
    VARIANT_LABEL, /* for readers; then the parameters, then these, from `first` on: */
    VARIANT_RUNS = 0,
    VARIANT_WALL_TEXT,
    VARIANT_MIN_TEXT,
    VARIANT_SPREAD_TEXT,
    VARIANT_SPEED_TEXT,
    VARIANT_CPU_TEXT,
    VARIANT_MEMORY_TEXT,
    VARIANT_RANGE_TEXT,
    VARIANT_WALL = VARIANT_RANGE_TEXT + RANGES_SHOWN, /* for programs */
    VARIANT_MIN,
    VARIANT_MAX,
    VARIANT_SPREAD,
    VARIANT_SPEED,
    VARIANT_SPEED_LOW,
    VARIANT_SPEED_HIGH,
    VARIANT_VERDICT,
    VARIANT_CPU,
    VARIANT_MEMORY,
    VARIANT_COLUMNS,
};

static const struct table_column variant_columns[VARIANT_COLUMNS] = {
    [VARIANT_RUNS] = {.name = "runs", .title = "runs", .type = COLUMN_COUNT, .rank = 6},
    [VARIANT_WALL_TEXT] = {.title = "median", .type = COLUMN_TEXT, .right = true},
    [VARIANT_MIN_TEXT] = {.title = "least", .type = COLUMN_TEXT, .right = true, .rank = 4},
    [VARIANT_SPREAD_TEXT] = {.title = "spread", .type = COLUMN_TEXT, .right = true, .rank = 2},
    [VARIANT_SPEED_TEXT] = {.title = "speed-up", .type = COLUMN_TEXT, .right = true},
    [VARIANT_CPU_TEXT] = {.title = "CPU", .type = COLUMN_TEXT, .right = true, .rank = 1},
    [VARIANT_MEMORY_TEXT] = {.title = "memory", .type = COLUMN_TEXT, .right = true, .rank = 5},
    [VARIANT_RANGE_TEXT] = {.type = COLUMN_TEXT, .right = true, .rank = 3},
    [VARIANT_RANGE_TEXT + 1] = {.type = COLUMN_TEXT, .right = true, .rank = 7},
    [VARIANT_RANGE_TEXT + 2] = {.type = COLUMN_TEXT, .right = true, .rank = 8},
    [VARIANT_WALL] = {.name = "wall_ns", .type = COLUMN_VALUE},
    [VARIANT_MIN] = {.name = "wall_min_ns", .type = COLUMN_VALUE},
    [VARIANT_MAX] = {.name = "wall_max_ns", .type = COLUMN_VALUE},
    [VARIANT_SPREAD] = {.name = "wall_spread_ns", .type = COLUMN_VALUE},
    [VARIANT_SPEED] = {.name = "speed_up", .type = COLUMN_VALUE},
    [VARIANT_SPEED_LOW] = {.name = "speed_up_low", .type = COLUMN_VALUE},
    [VARIANT_SPEED_HIGH] = {.name = "speed_up_high", .type = COLUMN_VALUE},
    [VARIANT_VERDICT] = {.name = "verdict", .type = COLUMN_TEXT},
    [VARIANT_CPU] = {.name = "cpu_ns", .type = COLUMN_VALUE},
    [VARIANT_MEMORY] = {.name = "memory_bytes", .type = COLUMN_VALUE},
};

bool compare_is_variant_column(const char *name)
{
    for (unsigned i = 0; i < VARIANT_COLUMNS; i++)
        if (variant_columns[i].name && strcmp(variant_columns[i].name, name) == 0)
            return true;
    return strcmp(name, "variant") == 0;
}

static void put_number(struct table_row *row, unsigned column, double value, uint8_t unit)
{
    char text[COMPARE_TEXT_SIZE];
    row_text(row, column, isnan(value) ? "-" : compare_value_text(value, unit, 3, text));
}

/* The first is the reference: 1.00 x. */
static void put_speed(struct table_row *row, unsigned first, const struct compare_variant *variant)
{
    const struct compare_result *change = change_of(variant);
    char text[COMPARE_TEXT_SIZE] = "1.00 x";
    compare_put_value(row, first + VARIANT_SPEED, change ? change->a / change->b : 1);
    if (change) {
        bool chance = change->verdict == COMPARE_UNSURE || change->verdict == COMPARE_SAME;
        double ratio =
            compare_rounded(change->a, COLUMN_TIME, 3) / compare_rounded(change->b, COLUMN_TIME, 3);
        snprintf(text, sizeof(text), "%s%.*f x", chance ? "~" : "", ratio >= 9.995 ? 1 : 2, ratio);
        if (isfinite(change->high) && isfinite(change->low) && change->a + change->low > 0) {
            compare_put_value(row, first + VARIANT_SPEED_LOW,
                              change->a / (change->a + change->high));
            compare_put_value(row, first + VARIANT_SPEED_HIGH,
                              change->a / (change->a + change->low));
        }
        row_text(row, first + VARIANT_VERDICT, compare_verdict_text(change));
    }
    row_text(row, first + VARIANT_SPEED_TEXT, text);
}

static void put_wall(struct table_row *row, unsigned first, const struct summary *wall)
{
    char text[COMPARE_TEXT_SIZE] = "-";
    row_count(row, first + VARIANT_RUNS, wall->count);
    put_number(row, first + VARIANT_WALL_TEXT, wall->median, COLUMN_TIME);
    put_number(row, first + VARIANT_MIN_TEXT, wall->min, COLUMN_TIME);
    if (wall->count > 1 && wall->median > 0)
        snprintf(text, sizeof(text), "\xc2\xb1%.1f %%", 100 * wall->spread / wall->median);
    row_text(row, first + VARIANT_SPREAD_TEXT, text);
    compare_put_value(row, first + VARIANT_WALL, wall->median);
    compare_put_value(row, first + VARIANT_MIN, wall->min);
    compare_put_value(row, first + VARIANT_MAX, wall->max);
    compare_put_value(row, first + VARIANT_SPREAD, wall->spread);
}

static void fill_variant(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct variant_rows *rows = table->rows;
    const struct compare_variant *variant = &rows->variants[index];
    size_t ranges = (size_t)(compare_kind_find("range", 5) - compare_kinds);
    unsigned first = rows->first;
    const struct summary wall = number_of(variant, 0, "wall"), cpu = number_of(variant, 0, "CPU");
    const struct summary memory = number_of(variant, 0, "memory");
    row_text(row, VARIANT_LABEL, variant->label);
    for (size_t i = 0; i < rows->parameters->count; i++)
        row_text(row, VARIANT_LABEL + 1 + (unsigned)i, variant->values[i]);
    put_wall(row, first, &wall);
    put_speed(row, first, variant);
    put_number(row, first + VARIANT_CPU_TEXT, cpu.median, COLUMN_TIME);
    put_number(row, first + VARIANT_MEMORY_TEXT, memory.median, COLUMN_BYTES);
    for (unsigned i = 0; i < rows->range_count; i++)
        put_number(row, first + VARIANT_RANGE_TEXT + i,
                   number_of(variant, ranges, rows->ranges[i]).median, COLUMN_TIME);
    compare_put_value(row, first + VARIANT_CPU, cpu.median);
    compare_put_value(row, first + VARIANT_MEMORY, memory.median);
}

/* ---- The ranges with the most time ----------------------------------------------------------- */

static double time_in(const struct variant_rows *rows, const char *name)
{
    size_t kind = (size_t)(compare_kind_find("range", 5) - compare_kinds);
    double sum = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double value = number_of(&rows->variants[i], kind, name).median;
        sum += isnan(value) ? 0 : value;
    }
    return sum;
}

static bool is_chosen(const struct variant_rows *rows, const char *name)
{
    for (unsigned i = 0; i < rows->range_count; i++)
        if (strcmp(rows->ranges[i], name) == 0)
            return true;
    return false;
}

/* Chooses from the user's outermost ranges. */
static void choose_ranges(struct variant_rows *rows)
{
    size_t kind = (size_t)(compare_kind_find("range", 5) - compare_kinds);
    const struct compare_list *list = &rows->variants[rows->count - 1].compare->lists[kind];
    while (rows->range_count < RANGES_SHOWN) {
        const char *found = NULL;
        double most = 0;
        for (size_t i = 0; i < list->rows.count; i++) {
            const struct compare_row *row = &list->rows.items[i];
            double time = row->own && !strchr(row->name, '/') && !is_chosen(rows, row->name)
                              ? time_in(rows, row->name)
                              : 0;
            found = time > most ? row->name : found;
            most = fmax(most, time);
        }
        if (!found)
            return;
        rows->ranges[rows->range_count++] = found;
    }
}

/* ---- The table of variants
 * ------------------------------------------------------------------------------- */

int compare_variants_table(const struct compare_variant *variants, size_t count,
                           const struct compare_parameters *parameters, struct table *ret_table)
{
    struct variant_rows *rows = calloc(1, sizeof(*rows));
    *ret_table = (struct table){.name = "variants", .fill = fill_variant, .rows = rows};
    if (!rows)
        return -ENOMEM;
    rows->variants = variants;
    rows->parameters = parameters;
    rows->count = count;
    choose_ranges(rows);
    bool labels = parameters->count == 0 || parameters->commands;
    table_add_column(ret_table, (struct table_column){.name = "variant",
                                                      .title = labels ? "variant" : NULL,
                                                      .type = COLUMN_TEXT});
    for (size_t i = 0; i < parameters->count; i++)
        table_add_column(ret_table,
                         (struct table_column){.name = parameters->names[i],
                                               .title = labels ? NULL : parameters->names[i],
                                               .type = COLUMN_TEXT});
    rows->first = ret_table->column_count;
    for (unsigned i = 0; i < VARIANT_COLUMNS; i++)
        table_add_column(ret_table, variant_columns[i]);
    for (unsigned i = 0; i < rows->range_count; i++) {
        snprintf(rows->titles[i], NAME_ROOM, "%s", rows->ranges[i]);
        ret_table->columns[rows->first + VARIANT_RANGE_TEXT + i].title = rows->titles[i];
    }
    if (isnan(number_of(&variants[0], 0, "memory").median))
        ret_table->columns[rows->first + VARIANT_MEMORY_TEXT].title = NULL;
    ret_table->row_count = count;
    ret_table->limit = UINT64_MAX;
    ret_table->title = strdup("Variants: wall time, and what they used (medians)");
    return ret_table->title ? 0 : -ENOMEM;
}
