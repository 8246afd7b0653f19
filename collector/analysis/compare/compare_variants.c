/* SPDX-License-Identifier: MIT */
/* Several variants of a command in one table: a row each, compared with the first. */
#include "compare_variants.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_test.h"
#include "compare_text.h"
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

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
    LABEL, /* for readers; then the parameters, then these, from `first` on: */
    RUNS = 0,
    WALL_TEXT,
    MIN_TEXT,
    SPREAD_TEXT,
    SPEED_TEXT,
    CPU_TEXT,
    MEMORY_TEXT,
    RANGE_TEXT,
    WALL = RANGE_TEXT + RANGES_SHOWN, /* for programs */
    MIN,
    MAX,
    SPREAD,
    SPEED,
    SPEED_LOW,
    SPEED_HIGH,
    VERDICT,
    CPU,
    MEMORY,
    COLUMNS,
};

static const struct table_column columns[COLUMNS] = {
    [RUNS] = {.name = "runs", .title = "runs", .type = COLUMN_COUNT, .rank = 6},
    [WALL_TEXT] = {.title = "median", .type = COLUMN_TEXT, .right = true},
    [MIN_TEXT] = {.title = "least", .type = COLUMN_TEXT, .right = true, .rank = 4},
    [SPREAD_TEXT] = {.title = "spread", .type = COLUMN_TEXT, .right = true, .rank = 2},
    [SPEED_TEXT] = {.title = "speed-up", .type = COLUMN_TEXT, .right = true},
    [CPU_TEXT] = {.title = "CPU", .type = COLUMN_TEXT, .right = true, .rank = 1},
    [MEMORY_TEXT] = {.title = "memory", .type = COLUMN_TEXT, .right = true, .rank = 5},
    [RANGE_TEXT] = {.type = COLUMN_TEXT, .right = true, .rank = 3},
    [RANGE_TEXT + 1] = {.type = COLUMN_TEXT, .right = true, .rank = 7},
    [RANGE_TEXT + 2] = {.type = COLUMN_TEXT, .right = true, .rank = 8},
    [WALL] = {.name = "wall_ns", .type = COLUMN_VALUE},
    [MIN] = {.name = "wall_min_ns", .type = COLUMN_VALUE},
    [MAX] = {.name = "wall_max_ns", .type = COLUMN_VALUE},
    [SPREAD] = {.name = "wall_spread_ns", .type = COLUMN_VALUE},
    [SPEED] = {.name = "speed_up", .type = COLUMN_VALUE},
    [SPEED_LOW] = {.name = "speed_up_low", .type = COLUMN_VALUE},
    [SPEED_HIGH] = {.name = "speed_up_high", .type = COLUMN_VALUE},
    [VERDICT] = {.name = "verdict", .type = COLUMN_TEXT},
    [CPU] = {.name = "cpu_ns", .type = COLUMN_VALUE},
    [MEMORY] = {.name = "memory_bytes", .type = COLUMN_VALUE},
};

bool compare_is_variant_column(const char *name)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        if (columns[i].name && strcmp(columns[i].name, name) == 0)
            return true;
    return strcmp(name, "variant") == 0;
}

static void put_number(struct table_row *row, unsigned column, double value, uint8_t unit)
{
    char text[COMPARE_TEXT_SIZE];
    row_text(row, column, isnan(value) ? "-" : compare_value_text(value, unit, 3, text));
}

static void put_value(struct table_row *row, unsigned column, double value)
{
    if (isfinite(value))
        row_value(row, column, value);
    else
        row->cells[column].state = CELL_UNKNOWN;
}

/* The first is the reference: 1.00 x. */
static void put_speed(struct table_row *row, unsigned first, const struct compare_variant *variant)
{
    const struct compare_result *change = change_of(variant);
    char text[COMPARE_TEXT_SIZE] = "1.00 x";
    put_value(row, first + SPEED, change ? change->a / change->b : 1);
    if (change) {
        bool chance = change->verdict == COMPARE_UNSURE || change->verdict == COMPARE_SAME;
        double ratio =
            compare_rounded(change->a, COLUMN_TIME, 3) / compare_rounded(change->b, COLUMN_TIME, 3);
        snprintf(text, sizeof(text), "%s%.*f x", chance ? "~" : "", ratio >= 9.995 ? 1 : 2, ratio);
        if (isfinite(change->high) && isfinite(change->low) && change->a + change->low > 0) {
            put_value(row, first + SPEED_LOW, change->a / (change->a + change->high));
            put_value(row, first + SPEED_HIGH, change->a / (change->a + change->low));
        }
        row_text(row, first + VERDICT, compare_verdict_text(change));
    }
    row_text(row, first + SPEED_TEXT, text);
}

static void put_wall(struct table_row *row, unsigned first, const struct summary *wall)
{
    char text[COMPARE_TEXT_SIZE] = "-";
    row_count(row, first + RUNS, wall->count);
    put_number(row, first + WALL_TEXT, wall->median, COLUMN_TIME);
    put_number(row, first + MIN_TEXT, wall->min, COLUMN_TIME);
    if (wall->count > 1 && wall->median > 0)
        snprintf(text, sizeof(text), "\xc2\xb1%.1f %%", 100 * wall->spread / wall->median);
    row_text(row, first + SPREAD_TEXT, text);
    put_value(row, first + WALL, wall->median);
    put_value(row, first + MIN, wall->min);
    put_value(row, first + MAX, wall->max);
    put_value(row, first + SPREAD, wall->spread);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct variant_rows *rows = table->rows;
    const struct compare_variant *variant = &rows->variants[index];
    size_t ranges = (size_t)(compare_kind_find("range", 5) - compare_kinds);
    unsigned first = rows->first;
    const struct summary wall = number_of(variant, 0, "wall"), cpu = number_of(variant, 0, "CPU");
    const struct summary memory = number_of(variant, 0, "memory");
    row_text(row, LABEL, variant->label);
    for (size_t i = 0; i < rows->parameters->count; i++)
        row_text(row, LABEL + 1 + (unsigned)i, variant->values[i]);
    put_wall(row, first, &wall);
    put_speed(row, first, variant);
    put_number(row, first + CPU_TEXT, cpu.median, COLUMN_TIME);
    put_number(row, first + MEMORY_TEXT, memory.median, COLUMN_BYTES);
    for (unsigned i = 0; i < rows->range_count; i++)
        put_number(row, first + RANGE_TEXT + i, number_of(variant, ranges, rows->ranges[i]).median,
                   COLUMN_TIME);
    put_value(row, first + CPU, cpu.median);
    put_value(row, first + MEMORY, memory.median);
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

/* ---- The table ------------------------------------------------------------------------------- */

int compare_variants_table(const struct compare_variant *variants, size_t count,
                           const struct compare_parameters *parameters, struct table *ret_table)
{
    struct variant_rows *rows = calloc(1, sizeof(*rows));
    *ret_table = (struct table){.name = "variants", .fill = fill, .rows = rows};
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
    for (unsigned i = 0; i < COLUMNS; i++)
        table_add_column(ret_table, columns[i]);
    for (unsigned i = 0; i < rows->range_count; i++) {
        snprintf(rows->titles[i], NAME_ROOM, "%s", rows->ranges[i]);
        ret_table->columns[rows->first + RANGE_TEXT + i].title = rows->titles[i];
    }
    if (isnan(number_of(&variants[0], 0, "memory").median))
        ret_table->columns[rows->first + MEMORY_TEXT].title = NULL;
    ret_table->row_count = count;
    ret_table->limit = UINT64_MAX;
    ret_table->title = strdup("Variants: wall time, and what they used (medians)");
    return ret_table->title ? 0 : -ENOMEM;
}
