/* SPDX-License-Identifier: MIT */
/* What stands beside the results of a comparison: how it was made, runs that stand out, and what
 * became of limits. */
#include "compare_parts.h"
#include "compare_stats.h"

#include <math.h>
#include <string.h>

/* ---- Outliers -------------------------------------------------------------------------------- */

/* Nearer ones are of no interest, however alike the others are. */
#define LEAST_OUT 0.05

struct outliers {
    const struct compare *compare;
    struct compare_outlier *items;
    size_t count, limit;
};

static void add_outlier(struct outliers *found, struct compare_outlier outlier)
{
    if (found->count < found->limit)
        found->items[found->count] = outlier;
    found->count++;
}

static void look_at(struct outliers *found, const struct compare_row *row, enum compare_side side)
{
    const struct compare *compare = found->compare;
    size_t count = compare->counts[side], from = side == COMPARE_B ? compare->counts[0] : 0;
    double values[COMPARE_RUNS_MAX], sorted[COMPARE_RUNS_MAX];
    uint8_t out[COMPARE_RUNS_MAX];
    for (size_t i = 0; i < count; i++) {
        values[i] = sorted[i] = row->values[compare_at(compare, 0, from + i)];
        if (isnan(values[i]))
            return;
    }
    if (count == 0 || compare_outliers(values, count, out) == 0)
        return;
    double median = compare_middle(sorted, count, 0.95).median;
    for (size_t i = 0; i < count; i++)
        if (out[i] && fabs(values[i] - median) >= LEAST_OUT * fabs(median))
            add_outlier(found, (struct compare_outlier){
                                   .side = side,
                                   .run = i,
                                   .path = compare->runs[from + i].path,
                                   .name = row->name,
                                   .unit = row->unit,
                                   .value = values[i],
                                   .median = median,
                               });
}

size_t compare_find_outliers(const struct compare *compare, struct compare_outlier *ret_outliers,
                             size_t limit)
{
    const struct compare_list *list = &compare->lists[0];
    struct outliers found = {.compare = compare, .items = ret_outliers, .limit = limit};
    for (size_t i = 0; i < list->rows.count; i++) {
        look_at(&found, &list->rows.items[i], COMPARE_A);
        look_at(&found, &list->rows.items[i], COMPARE_B);
    }
    return found.count;
}

enum { OUT_SIDE, OUT_RUN, OUT_PATH, OUT_NAME, OUT_VALUE, OUT_MEDIAN };

static void fill_outlier(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare_outlier *outlier = (const struct compare_outlier *)table->context + index;
    row_text(row, OUT_SIDE, outlier->side == COMPARE_A ? "A" : "B");
    row_count(row, OUT_RUN, outlier->run + 1);
    row_text(row, OUT_PATH, outlier->path ? outlier->path : "");
    row_text(row, OUT_NAME, outlier->name);
    row_value(row, OUT_VALUE, outlier->value);
    row_value(row, OUT_MEDIAN, outlier->median);
}

void compare_outliers_table(const struct compare_outlier *outliers, size_t count,
                            struct table *ret_table)
{
    static const struct table_column columns[] = {
        [OUT_SIDE] = {.name = "side", .type = COLUMN_TEXT},
        [OUT_RUN] = {.name = "run", .type = COLUMN_COUNT},
        [OUT_PATH] = {.name = "path", .type = COLUMN_TEXT},
        [OUT_NAME] = {.name = "name", .type = COLUMN_TEXT},
        [OUT_VALUE] = {.name = "value", .type = COLUMN_VALUE},
        [OUT_MEDIAN] = {.name = "median", .type = COLUMN_VALUE},
    };

    *ret_table = (struct table){.name = "outliers", .fill = fill_outlier, .context = outliers};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(ret_table, columns[i]);
    ret_table->row_count = count;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

enum {
    A_RUNS,
    B_RUNS,
    COMMAND_A,
    COMMAND_B,
    UNIT_OF_TEST,
    TESTED,
    POSSIBLE,
    REFERENCES,
    FACT_COLUMNS
};

static void fill_facts(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare *compare = table->context;
    size_t possible, tested = compare_tested(compare, &possible);
    (void)index;
    row_count(row, A_RUNS, compare->counts[COMPARE_A]);
    row_count(row, B_RUNS, compare->counts[COMPARE_B]);
    row_text(row, COMMAND_A, compare->runs[0].facts[0]);
    if (compare->counts[COMPARE_B] > 0)
        row_text(row, COMMAND_B, compare->runs[compare->counts[COMPARE_A]].facts[0]);
    row_text(row, UNIT_OF_TEST, compare_is_single(compare) ? "batch" : "run");
    row_count(row, TESTED, tested);
    if (possible < SIZE_MAX)
        row_count(row, POSSIBLE, possible);
    row_count(row, REFERENCES, compare->references);
}

void compare_facts_table(const struct compare *compare, struct table *ret_table)
{
    static const struct table_column columns[FACT_COLUMNS] = {
        [A_RUNS] = {.name = "a_runs", .type = COLUMN_COUNT},
        [B_RUNS] = {.name = "b_runs", .type = COLUMN_COUNT},
        [COMMAND_A] = {.name = "a_command", .type = COLUMN_TEXT},
        [COMMAND_B] = {.name = "b_command", .type = COLUMN_TEXT},
        [UNIT_OF_TEST] = {.name = "measurement", .type = COLUMN_TEXT},
        [TESTED] = {.name = "tested_rows", .type = COLUMN_COUNT},
        [POSSIBLE] = {.name = "sure_rows_possible", .type = COLUMN_COUNT},
        [REFERENCES] = {.name = "speed_reference_count", .type = COLUMN_COUNT},
    };

    *ret_table = (struct table){.name = "comparison", .fill = fill_facts, .context = compare};
    for (size_t i = 0; i < FACT_COLUMNS; i++)
        table_add_column(ret_table, columns[i]);
    ret_table->is_single = true;
    ret_table->row_count = 1;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

enum { LIMIT, LIMIT_KIND, LIMIT_NAME, LIMIT_METRIC, LIMIT_VALUE, LIMIT_LOW, LIMIT_HIGH, STATE };

const char *compare_state_text(enum compare_state state)
{
    return state == COMPARE_FAILS ? "fails" : state == COMPARE_HOLDS ? "holds" : "undecided";
}

static void add_value(struct table_row *row, unsigned column, double value)
{
    if (isfinite(value))
        row_value(row, column, value);
    else
        row->cells[column].state = CELL_UNKNOWN;
}

static void fill_limit(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare_judgement *judgement =
        (const struct compare_judgement *)table->context + index;
    row_text(row, LIMIT, judgement->limit->text);
    row_text(row, LIMIT_KIND, judgement->result.kind);
    row_text(row, LIMIT_NAME, judgement->result.name);
    row_text(row, LIMIT_METRIC, judgement->result.metric);
    add_value(row, LIMIT_VALUE, judgement->value);
    add_value(row, LIMIT_LOW, judgement->low);
    add_value(row, LIMIT_HIGH, judgement->high);
    row_text(row, STATE, compare_state_text(judgement->state));
}

void compare_limits_table(const struct compare_judgement *judgements, size_t count,
                          struct table *ret_table)
{
    static const struct table_column columns[] = {
        [LIMIT] = {.name = "limit", .type = COLUMN_TEXT},
        [LIMIT_KIND] = {.name = "kind", .type = COLUMN_TEXT},
        [LIMIT_NAME] = {.name = "name", .type = COLUMN_TEXT},
        [LIMIT_METRIC] = {.name = "metric", .type = COLUMN_TEXT},
        [LIMIT_VALUE] = {.name = "value", .type = COLUMN_VALUE},
        [LIMIT_LOW] = {.name = "low", .type = COLUMN_VALUE},
        [LIMIT_HIGH] = {.name = "high", .type = COLUMN_VALUE},
        [STATE] = {.name = "state", .type = COLUMN_TEXT},
    };

    *ret_table = (struct table){.name = "limits", .fill = fill_limit, .context = judgements};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(ret_table, columns[i]);
    ret_table->row_count = count;
}
