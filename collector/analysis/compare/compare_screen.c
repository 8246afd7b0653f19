/* SPDX-License-Identifier: MIT */
/* Tables of the first screen of a comparison: the rows that explain the change, then the rows of
 * each other kind with the largest changes. */
#include "compare_screen.h"

#include "compare.h"
#include "compare_facts.h"
#include "compare_kinds.h"
#include "compare_limit.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_tables.h"
#include "compare_test.h"
#include "compare_text.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows that explain the change ------------------------------------------------------------ */

/* The rows that explain a change: rows measured on both sides that do not overlap, with their
 * contribution to the change of the whole. */

#define LEVEL 0.95

#define SURE_P 0.05

/* Own code comes first, before rows of libraries, from this part of the whole on. */
#define OWN_PART 0.005

#define RANGES_PART 0.05

/* ---- Sums over rows -------------------------------------------------------------------------- */

static size_t kind_of(const char *word)
{
    return (size_t)(compare_kind_find(word, strlen(word)) - compare_kinds);
}

/* Returns the median of a side's runs; NaN: no run has a value. */
static double sum_of(const struct compare *compare, size_t kind, const char *metric,
                     enum compare_side side)
{
    const struct compare_list *list = &compare->lists[kind];
    unsigned at = (unsigned)compare_metric_find(&compare_kinds[kind], metric);
    size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    double sums[COMPARE_RUNS_MAX];
    bool known = false;
    for (size_t run = 0; run < compare->counts[side]; run++) {
        sums[run] = 0;
        for (size_t i = 0; i < list->rows.count; i++) {
            double value = list->rows.items[i].values[compare_at(compare, at, from + run)];
            sums[run] += isnan(value) ? 0 : value;
            known = known || !isnan(value);
        }
    }
    return known ? compare_middle(sums, compare->counts[side], LEVEL).median : NAN;
}

static const struct compare_result *run_result(const struct compare *compare, const char *name)
{
    const struct compare_list *list = &compare->lists[0];
    for (size_t i = 0; i < list->results.count; i++)
        if (strcmp(list->results.items[i].name, name) == 0)
            return &list->results.items[i];
    return NULL;
}

/* ---- One row --------------------------------------------------------------------------------- */

static bool is_sure(const struct compare_result *result)
{
    return result->verdict == COMPARE_MORE || result->verdict == COMPARE_LESS ||
           result->verdict == COMPARE_NEW || result->verdict == COMPARE_GONE;
}

/* Returns the result of one number of a row; NULL: not tested. */
static const struct compare_result *tested(const struct compare *compare, size_t kind,
                                           const struct compare_row *row, const char *metric)
{
    const struct compare_list *list = &compare->lists[kind];
    for (size_t i = row->first_result; i < list->results.count; i++) {
        const struct compare_result *result = &list->results.items[i];
        if (result->row != row)
            return NULL;
        if (strcmp(result->metric, metric) == 0)
            return result;
    }
    return NULL;
}

/* With one run a side, times from samples are subject to chance; other numbers were measured. */
static bool is_rough(const struct compare *compare, size_t kind, const struct compare_row *row,
                     const struct compare_part *part)
{
    const struct compare_result *result = tested(compare, kind, row, part->result.metric);
    if (compare->story.basis == COMPARE_BY_BOTH && strcmp(part->result.kind, "own") == 0)
        return true;
    if (!compare_is_single(compare) || part->result.unit == COLUMN_BYTES)
        return result ? !is_sure(result) : !(part->result.p <= SURE_P);
    result = compare_metric_find(&compare_kinds[kind], "cpu") >= 0
                 ? tested(compare, kind, row, "cpu")
                 : NULL;
    return result && fabs(result->b - result->a) * 2 > fabs(part->result.shift) && !is_sure(result);
}

static double middle_of(const struct compare *compare, size_t kind, const struct compare_row *row,
                        const char *metric, enum compare_side side)
{
    int at = compare_metric_find(&compare_kinds[kind], metric);
    const struct compare_cell cell = {kind, row, (unsigned)at};
    struct compare_sample values;
    if (at < 0)
        return NAN;
    compare_gather(compare, &cell, &values);
    return values.counts[side] ? compare_middle(values.of[side], values.counts[side], LEVEL).median
                               : NAN;
}

/* Makes a part of the first screen from a number of a row; compare_add_parts does so for all rows
 * of a kind, the largest change first. 0 or -ENOMEM. */
static int compare_make_part(const struct compare *compare, const struct compare_cell *cell,
                             struct compare_part *ret_part)
{
    const struct compare_kind *kind = &compare_kinds[cell->kind];
    const char *count = compare_metric_find(kind, "calls") >= 0 ? "calls" : "count";
    int rc = compare_measure(compare, cell, LEVEL, &ret_part->result);
    ret_part->a_count = middle_of(compare, cell->kind, cell->row, count, COMPARE_A);
    ret_part->b_count = middle_of(compare, cell->kind, cell->row, count, COMPARE_B);
    ret_part->a_each = middle_of(compare, cell->kind, cell->row, "each", COMPARE_A);
    ret_part->b_each = middle_of(compare, cell->kind, cell->row, "each", COMPARE_B);
    ret_part->rough = rc == 0 && is_rough(compare, cell->kind, cell->row, ret_part);
    return rc;
}

/* ---- All rows of a kind ---------------------------------------------------------------------- */

static double weight_of(const struct compare_part *part)
{
    return fabs(part->result.shift);
}

static int by_weight(const void *left, const void *right)
{
    const struct compare_part *a = left, *b = right;
    if (weight_of(a) < weight_of(b) || weight_of(a) > weight_of(b))
        return weight_of(a) < weight_of(b) ? 1 : -1;
    return strcmp(a->result.name, b->result.name);
}

static int compare_add_parts(const struct compare *compare, size_t kind, const char *metric,
                             struct compare_parts *parts)
{
    const struct compare_list *list = &compare->lists[kind];
    int at = compare_metric_find(&compare_kinds[kind], metric);
    for (size_t i = 0; i < list->rows.count && at >= 0; i++) {
        const struct compare_cell cell = {kind, &list->rows.items[i], (unsigned)at};
        struct compare_part part;
        int rc = compare_make_part(compare, &cell, &part);
        if (rc < 0)
            return rc;
        part.result.shift =
            (isnan(part.result.b) ? 0 : part.result.b) - (isnan(part.result.a) ? 0 : part.result.a);
        if (part.result.a_some + part.result.b_some > 0 && vec_push(parts, part) != 0)
            return -ENOMEM;
    }
    if (parts->count > 0)
        qsort(parts->items, parts->count, sizeof(*parts->items), by_weight);
    return 0;
}

/* ---- The story ------------------------------------------------------------------------------- */

static bool has_both(const struct compare *compare, const char *word, const char *metric)
{
    size_t kind = kind_of(word);
    return sum_of(compare, kind, metric, COMPARE_A) > 0 &&
           sum_of(compare, kind, metric, COMPARE_B) > 0;
}

/* Returns true if ranges cover enough of the wall time to explain it. */
static bool has_ranges(const struct compare *compare, enum compare_side side)
{
    const struct compare_result *wall = run_result(compare, "wall");
    double whole = wall ? (side == COMPARE_A ? wall->a : wall->b) : 0;
    double ranges = sum_of(compare, kind_of("range"), "self", side);
    return ranges > 0 && ranges >= RANGES_PART * whole;
}

static enum compare_basis find_basis(const struct compare *compare)
{
    if (has_both(compare, "call", "own"))
        return COMPARE_BY_CALLS;
    if (has_both(compare, "own", "time") && compare_all(compare, COMPARE_SAMPLED)) {
        bool waits = compare_all(compare, COMPARE_WAITS);
        bool wall = waits && compare_all(compare, COMPARE_WALL);
        return wall ? COMPARE_BY_WALL : waits ? COMPARE_BY_THREADS : COMPARE_BY_CPU;
    }
    if (has_both(compare, "own", "time"))
        return COMPARE_BY_BOTH;
    return has_ranges(compare, COMPARE_A) && has_ranges(compare, COMPARE_B) ? COMPARE_BY_RANGES
                                                                            : COMPARE_BY_NOTHING;
}

static void set_run(const struct compare *compare, const char *name, struct compare_story *story)
{
    const struct compare_result *run = run_result(compare, name);
    story->a = run ? run->a : NAN;
    story->b = run ? run->b : NAN;
}

static void set_sum(const struct compare *compare, size_t kind, const char *metric,
                    struct compare_story *story)
{
    story->a = sum_of(compare, kind, metric, COMPARE_A);
    story->b = sum_of(compare, kind, metric, COMPARE_B);
}

/* Moves relevant rows of own code to the front, the rest stays sorted by weight. */
static void put_own_first(struct compare_story *story)
{
    double least = OWN_PART * fmax(story->a, story->b);
    struct compare_part *items = story->rows.items;
    size_t kept = 0;
    for (size_t i = 0; i < story->rows.count; i++) {
        struct compare_part part = items[i];
        if (!part.result.own || weight_of(&part) < least)
            continue;
        memmove(items + kept + 1, items + kept, (i - kept) * sizeof(*items));
        items[kept++] = part;
    }
}

int compare_find_story(struct compare *compare)
{
    struct compare_story *story = &compare->story;

    static const struct {
        const char *kind, *metric;
    } rows[] = {
        [COMPARE_BY_WALL] = {"own", "time"}, [COMPARE_BY_THREADS] = {"own", "time"},
        [COMPARE_BY_CPU] = {"own", "cpu"},   [COMPARE_BY_CALLS] = {"call", "own"},
        [COMPARE_BY_BOTH] = {"own", "time"}, [COMPARE_BY_RANGES] = {"range", "self"},
    };

    story->basis = compare->counts[COMPARE_B] > 0 ? (uint8_t)find_basis(compare) : 0;
    if (story->basis == COMPARE_BY_NOTHING)
        return 0;
    size_t kind = kind_of(rows[story->basis].kind);
    story->a_runnable = story->b_runnable = NAN;
    set_sum(compare, kind, rows[story->basis].metric, story);
    if (story->basis == COMPARE_BY_WALL || story->basis == COMPARE_BY_THREADS) {
        story->a_runnable = sum_of(compare, kind, "runnable", COMPARE_A);
        story->b_runnable = sum_of(compare, kind, "runnable", COMPARE_B);
        story->a += story->a_runnable;
        story->b += story->b_runnable;
    }
    if (story->basis == COMPARE_BY_WALL)
        set_run(compare, "wall", story);
    int rc = compare_add_parts(compare, kind, rows[story->basis].metric, &story->rows);
    if (rc == 0 && story->basis == COMPARE_BY_CALLS)
        put_own_first(story);
    return rc;
}

const struct compare_story *compare_story(const struct compare *compare)
{
    return &compare->story;
}

/* Minimum parts of the larger side's whole for rows to be shown; smaller for sure rows of several
 * runs. */
#define ROW_PART 0.01

#define SURE_PART 0.002

#define SECTION_PART 0.02

#define COUNTER_PART 0.05

enum { MAIN_ROWS = 8, SECTION_ROWS = 4, SECTIONS_ROWS = 10, KINDS_MAX = 3 };

/* ---- Sections -------------------------------------------------------------------------------- */

struct section {
    const char *name, *title, *label, *place;
    const char *kinds[KINDS_MAX + 1], *metric;
    unsigned bases; /* enum compare_basis as bits that it applies to */
    bool waits;     /* requires waits on both sides */
    bool sure;      /* rows with an interval */
};

#define BIT(basis) (1u << (basis))

static const struct section sections[] = {
    {.name = "changes_states",
     .title = "The wall time, by what the program did",
     .label = "state",
     .place = "waits for",
     .kinds = {"state"},
     .metric = "time",
     .bases = BIT(COMPARE_BY_THREADS),
     .waits = true},
    {.name = "changes_ranges",
     .title = "Ranges",
     .label = "range",
     .kinds = {"range", "overlapping", "track"},
     .metric = "total",
     .bases = ~BIT(COMPARE_BY_RANGES)},
    {.name = "changes_tracks",
     .title = "Ranges on tracks, overlapping ranges",
     .label = "range",
     .kinds = {"overlapping", "track"},
     .metric = "total",
     .bases = BIT(COMPARE_BY_RANGES)},
    {.name = "changes_gpu",
     .title = "GPUs: kernels, copies and other operations",
     .label = "operation",
     .kinds = {"kernel", "operation"},
     .metric = "total",
     .bases = ~0u},
    {.name = "changes_tasks",
     .title = "Tasks of pools",
     .label = "function",
     .place = "part",
     .kinds = {"task"},
     .metric = "total",
     .bases = ~0u},
    {.name = "changes_waits",
     .title = "Where threads waited",
     .label = "function",
     .place = "waits for",
     .kinds = {"place"},
     .metric = "total",
     .bases = ~(BIT(COMPARE_BY_WALL) | BIT(COMPARE_BY_THREADS)),
     .waits = true},
    {.name = "changes_imports",
     .title = "Imports",
     .label = "module",
     .kinds = {"import"},
     .metric = "self",
     .bases = ~0u},
    {.name = "changes_memory",
     .title = "Memory at the peak, by function",
     .label = "function",
     .kinds = {"memory"},
     .metric = "peak",
     .bases = ~0u},
    {.name = "changes_counters",
     .title = "Counters: means",
     .label = "counter",
     .kinds = {"counter"},
     .metric = "mean",
     .bases = ~0u},
};

static const struct section *main_section(enum compare_basis basis)
{
    static const struct section by[] = {
        [COMPARE_BY_WALL] = {.title = "Where the change is: wall time, by own function",
                             .label = "function"},
        [COMPARE_BY_THREADS] = {.title =
                                    "Where the change is: time of all threads, by own function",
                                .label = "function"},
        [COMPARE_BY_CPU] = {.title = "Where the change is: CPU time, by own function",
                            .label = "function"},
        [COMPARE_BY_CALLS] = {.title = "Where the change is: time in functions themselves, by "
                                       "counted calls",
                              .label = "function"},
        [COMPARE_BY_BOTH] = {.title = "Where the change is: functions, by counted calls of one "
                                      "side and samples of the other",
                             .label = "function"},
        [COMPARE_BY_RANGES] = {.title = "Where the change is: time in ranges themselves",
                               .label = "range"},
    };

    return &by[basis];
}

static const char *whole_name(enum compare_basis basis)
{
    static const char *const names[] = {
        [COMPARE_BY_WALL] = "wall time",     [COMPARE_BY_THREADS] = "all threads",
        [COMPARE_BY_CPU] = "CPU time",       [COMPARE_BY_CALLS] = "all calls",
        [COMPARE_BY_BOTH] = "all functions", [COMPARE_BY_RANGES] = "all ranges",
    };

    return names[basis];
}

/* Returns true if only sure rows are shown: several runs, enough for a test, and no sure change of
 * the wall time. */
static bool is_strict(const struct compare *compare)
{
    const struct compare_result *runs;
    size_t possible, count = compare_results(compare, "run", &runs);
    compare_tested(compare, &possible);
    bool sure = false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(runs[i].name, "wall") == 0)
            sure = runs[i].verdict == COMPARE_MORE || runs[i].verdict == COMPARE_LESS;
    return !compare_is_single(compare) && possible > 0 && !sure;
}

static bool is_shown(const struct compare *compare, const struct compare_part *part, double whole,
                     double least)
{
    double change = fabs(part->result.shift);
    bool sure = !compare_is_single(compare) && !part->rough;
    if (part->result.unit == COLUMN_VALUE)
        return !part->rough && change >= COUNTER_PART * fabs(part->result.a);
    if (!sure && is_strict(compare))
        return false;
    return change > 0 && change >= (sure ? SURE_PART : least) * whole;
}

/* ---- Rows of a table ------------------------------------------------------------------------- */

struct rows {
    size_t count, capacity; /* of `parts` */
    size_t plain;           /* rows before the sums */
    struct compare_part parts[];
};

static const uint32_t columns = 1u << LABEL | 1u << PLACE | 1u << A_TEXT | 1u << B_TEXT |
                                1u << DIFFERENCE_TEXT | 1u << CHANGE_TEXT | 1u << INTERVAL_TEXT |
                                1u << TIMES_TEXT | 1u << EACH_TEXT | 1u << KIND | 1u << NAME |
                                1u << OLD_NAME | 1u << METRIC | 1u << UNIT | 1u << A_NUMBER |
                                1u << B_NUMBER | 1u << DIFFERENCE | 1u << CHANGE | 1u << CHANCE;

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* Writes "1.10 -> 1.17 ms", or one number if both are the same. */
static void put_pair(struct table_row *row, unsigned column, double a, double b, uint8_t unit)
{
    char from[COMPARE_TEXT_SIZE], to[COMPARE_TEXT_SIZE], both[2 * COMPARE_TEXT_SIZE + 8];
    if (isnan(a) && isnan(b))
        return;
    const char *before = compare_value_text(a, unit, compare_digits(a, b), from);
    const char *after = compare_value_text(b, unit, compare_digits(a, b), to);
    if (isnan(a) || isnan(b) || strcmp(before, after) == 0)
        snprintf(both, sizeof(both), "%s", isnan(a) ? after : before);
    else
        snprintf(both, sizeof(both), "%s \xe2\x86\x92 %s", before, after);
    row_text(row, column, both);
}

static void put_label(struct table_row *row, const struct compare_result *result)
{
    char text[1024];
    snprintf(text, sizeof(text), "%.400s%s%.400s", result->old_name ? result->old_name : "",
             result->old_name ? " \xe2\x86\x92 " : "", result->name);
    row_text(row, LABEL, text);
    snprintf(text, sizeof(text), "%.400s%s%.400s", result->old_place ? result->old_place : "",
             result->old_place ? " \xe2\x86\x92 " : "", result->place);
    row_text(row, PLACE, text);
}

static void fill_people(struct table_row *row, const struct compare_part *part)
{
    const struct compare_result *result = &part->result;
    double a = or_zero(result->a), b = or_zero(result->b);
    char text[COMPARE_TEXT_SIZE], rough[COMPARE_TEXT_SIZE + 1];
    put_label(row, result);
    row_text(row, A_TEXT, compare_value_text(a, result->unit, compare_digits(a, b), text));
    row_text(row, B_TEXT, compare_value_text(b, result->unit, compare_digits(a, b), text));
    snprintf(rough, sizeof(rough), "%s%s", part->rough ? "~" : "",
             compare_difference_text(a, b, result->unit, text));
    row_text(row, DIFFERENCE_TEXT, rough);
    row_text(row, CHANGE_TEXT, compare_percent_text(a, b, result->unit, text));
    row_text(row, INTERVAL_TEXT, compare_interval_text(result, text));
    put_pair(row, TIMES_TEXT, part->a_count, part->b_count, COLUMN_COUNT);
    put_pair(row, EACH_TEXT, part->a_each, part->b_each, COLUMN_TIME);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct rows *rows = table->rows;
    const struct compare_part *part = &rows->parts[index];
    const struct compare_result *result = &part->result;
    double a = or_zero(result->a), b = or_zero(result->b);
    fill_people(row, part);
    row_text(row, KIND, result->kind);
    row_text(row, NAME, result->name);
    row_text(row, OLD_NAME, result->old_name ? result->old_name : "");
    row_text(row, METRIC, result->metric);
    row_text(row, UNIT, compare_unit_name(result->unit));
    row_value(row, A_NUMBER, a);
    row_value(row, B_NUMBER, b);
    row_value(row, DIFFERENCE, b - a);
    if (a > 0 || a < 0)
        row_value(row, CHANGE, (b - a) / fabs(a));
    row_count(row, CHANCE, part->rough);
}

/* ---- A table --------------------------------------------------------------------------------- */

static int add_row(struct compare *compare, struct rows *rows, const struct compare_part *like)
{
    struct compare_part *part = &rows->parts[rows->count++];
    *part = *like;
    part->result.shift = part->result.b - part->result.a;
    part->result.name = compare_text(compare, part->result.name);
    compare->story.marked = compare->story.marked || part->rough;
    return part->result.name ? 0 : -ENOMEM;
}

static int add_sum(struct compare *compare, struct rows *rows, const char *kind, const char *name,
                   const double sides[COMPARE_SIDES])
{
    const struct compare_part part = {
        .result = {.kind = kind,
                   .name = name,
                   .place = "",
                   .metric = "time",
                   .unit = COLUMN_TIME,
                   .a = sides[COMPARE_A],
                   .b = sides[COMPARE_B]},
        .a_count = NAN,
        .b_count = NAN,
        .a_each = NAN,
        .b_each = NAN,
    };
    return add_row(compare, rows, &part);
}

static struct table *new_table(struct compare *compare, const struct section *section,
                               const char *name, struct rows *rows)
{
    struct table *table = &compare->screen[compare->screen_count++];
    bool times = false, each = false, places = false;
    *table = (struct table){.name = name, .fill = fill, .rows = rows};
    compare_add_columns(table, columns);
    for (size_t i = 0; i < rows->plain; i++) {
        const struct compare_part *part = &rows->parts[i];
        times = times || or_zero(part->a_count) < or_zero(part->b_count) ||
                or_zero(part->a_count) > or_zero(part->b_count);
        each = each || or_zero(part->a_count) > 1 || or_zero(part->b_count) > 1;
        places = places || part->result.place[0];
    }
    table->columns[LABEL].title = section->label;
    if (!section->sure)
        table->columns[INTERVAL_TEXT].title = NULL;
    table->columns[PLACE].title = !places ? NULL : section->place ? section->place : "where";
    if (!times)
        table->columns[TIMES_TEXT].title = NULL;
    if (!each)
        table->columns[EACH_TEXT].title = NULL;
    table->row_count = rows->count;
    table->limit = UINT64_MAX;
    table->long_labels = true;
    table->title = strdup(section->title);
    return table;
}

static struct rows *new_rows(size_t capacity)
{
    struct rows *rows = calloc(1, sizeof(*rows) + capacity * sizeof(*rows->parts));
    if (rows)
        rows->capacity = capacity;
    return rows;
}

/* ---- The main table -------------------------------------------------------------------------- */

static int add_sums(struct compare *compare, struct rows *rows, size_t more)
{
    const struct compare_story *story = &compare->story;
    const double runnable[] = {story->a_runnable, story->b_runnable},
                 whole[] = {story->a, story->b};
    double rest[] = {story->a, story->b};
    double most = fmax(story->a, story->b);
    char name[64];
    int rc = 0;
    if (fabs(runnable[COMPARE_B] - runnable[COMPARE_A]) >= ROW_PART * most)
        rc = add_sum(compare, rows, "runnable", "(runnable, without a processor)", runnable);
    for (size_t i = 0; i < rows->count; i++) {
        rest[COMPARE_A] -= or_zero(rows->parts[i].result.a);
        rest[COMPARE_B] -= or_zero(rows->parts[i].result.b);
    }
    rest[COMPARE_A] = fmax(rest[COMPARE_A], 0);
    rest[COMPARE_B] = fmax(rest[COMPARE_B], 0);
    snprintf(name, sizeof(name), more ? "(the rest: %zu more)" : "(the rest)", more);
    if (rc == 0 && fmax(rest[COMPARE_A], rest[COMPARE_B]) >= SURE_PART * most)
        rc = add_sum(compare, rows, "rest", name, rest);
    return rc < 0 ? rc
                  : add_sum(compare, rows, "whole", whole_name((enum compare_basis)story->basis),
                            whole);
}

static int add_main(struct compare *compare, uint64_t limit)
{
    const struct compare_story *story = &compare->story;
    double whole = fmax(story->a, story->b);
    uint64_t most = limit ? limit : MAIN_ROWS;
    struct rows *rows = new_rows((most < story->rows.count ? most : story->rows.count) + 3);
    int rc = rows ? 0 : -ENOMEM;
    for (size_t i = 0; i < story->rows.count && rc == 0 && rows->count < most; i++)
        if (is_shown(compare, &story->rows.items[i], whole, limit ? 0 : ROW_PART))
            rc = add_row(compare, rows, &story->rows.items[i]);
    if (rc < 0 || rows->count == 0) {
        free(rows);
        return rc;
    }
    rows->plain = rows->count;
    rc = add_sums(compare, rows, story->rows.count - rows->count);
    if (rc < 0) {
        free(rows);
        return rc;
    }
    return new_table(compare, main_section((enum compare_basis)story->basis), "changes", rows)
                   ->title
               ? 0
               : -ENOMEM;
}

/* ---- Other tables ---------------------------------------------------------------------------- */

static double wall_of(const struct compare *compare)
{
    const struct compare_result *runs;
    size_t count = compare_results(compare, "run", &runs);
    for (size_t i = 0; i < count; i++)
        if (strcmp(runs[i].name, "wall") == 0)
            return fmax(or_zero(runs[i].a), or_zero(runs[i].b));
    return 0;
}

/* The whole of which the rows of a section are parts. */
static double whole_of(const struct compare *compare, const struct section *section)
{
    const struct compare_result *heap;
    if (strcmp(section->kinds[0], "memory") != 0)
        return wall_of(compare);
    return compare_results(compare, "heap", &heap) > 0 ? fmax(or_zero(heap->a), or_zero(heap->b))
                                                       : 0;
}

/* Rows that only one side recorded at all have not changed. */
static bool has_old_and_new(const struct compare_parts *parts)
{
    bool a = false, b = false;
    for (size_t i = 0; i < parts->count; i++) {
        a = a || parts->items[i].result.a_some > 0;
        b = b || parts->items[i].result.b_some > 0;
    }
    return a && b;
}

static int find_parts(const struct compare *compare, const struct section *section,
                      struct compare_parts *parts)
{
    int rc = 0;
    for (int i = 0; section->kinds[i] && rc == 0; i++) {
        const struct compare_kind *kind =
            compare_kind_find(section->kinds[i], strlen(section->kinds[i]));
        rc = compare_add_parts(compare, (size_t)(kind - compare_kinds), section->metric, parts);
    }
    return rc;
}

/* `left`: remaining rows of the screen. */
static int add_section(struct compare *compare, const struct section *section, uint64_t limit,
                       size_t *left)
{
    struct compare_parts parts = {0};
    double whole = whole_of(compare, section);
    uint64_t room = *left < SECTION_ROWS ? *left : SECTION_ROWS, most = limit ? limit : room;
    int rc = find_parts(compare, section, &parts);
    struct rows *rows = rc == 0 ? new_rows(most < parts.count ? most : parts.count) : NULL;
    bool both = has_old_and_new(&parts);
    for (size_t i = 0; i < parts.count && rows && rc == 0 && both && rows->count < most; i++)
        if (is_shown(compare, &parts.items[i], whole, SECTION_PART))
            rc = add_row(compare, rows, &parts.items[i]);
    vec_free(&parts);
    if (!rows || rc < 0 || rows->count == 0) {
        free(rows);
        return rows || rc < 0 ? rc : -ENOMEM;
    }
    rows->plain = rows->count;
    *left -= rows->count < *left ? rows->count : *left;
    return new_table(compare, section, section->name, rows)->title ? 0 : -ENOMEM;
}

static bool is_wanted(const struct compare *compare, const struct section *section)
{
    return (section->bases & BIT(compare->story.basis)) &&
           (!section->waits || compare_all(compare, COMPARE_WAITS));
}

/* ---- Sure changes of durations --------------------------------------------------------------- */

static bool is_duration(const struct compare_result *result)
{
    return strcmp(result->metric, "each") == 0 || strcmp(result->metric, "relative") == 0;
}

static bool is_certain(const struct compare_result *result)
{
    return result->verdict == COMPARE_MORE || result->verdict == COMPARE_LESS;
}

/* Returns the number of a row with the narrowest interval; NULL: no sure change. */
static const struct compare_result *best_duration(const struct compare_list *list, size_t first)
{
    const struct compare_result *best = NULL;
    for (size_t i = first;
         i < list->results.count && list->results.items[i].row == list->results.items[first].row;
         i++) {
        const struct compare_result *result = &list->results.items[i];
        if (is_duration(result) && is_certain(result) &&
            (!best ||
             (result->high - result->low) * best->a < (best->high - best->low) * result->a))
            best = result;
    }
    return best;
}

static int by_part(const void *left, const void *right)
{
    const struct compare_result *a = &((const struct compare_part *)left)->result;
    const struct compare_result *b = &((const struct compare_part *)right)->result;
    double x = fabs(a->shift / a->a), y = fabs(b->shift / b->a);
    return (x < y) - (x > y);
}

static int find_durations(const struct compare *compare, const struct section *section,
                          struct compare_parts *parts)
{
    for (int kind = 0; section->kinds[kind]; kind++) {
        const char *word = section->kinds[kind];
        const struct compare_kind *found = compare_kind_find(word, strlen(word));
        const struct compare_list *list = &compare->lists[found - compare_kinds];
        for (size_t i = 0; i < list->rows.count; i++) {
            struct compare_part part = {
                .a_count = NAN, .b_count = NAN, .a_each = NAN, .b_each = NAN};
            const struct compare_result *best =
                best_duration(list, list->rows.items[i].first_result);
            if (!best || best->row != &list->rows.items[i])
                continue;
            part.result = *best;
            part.result.place = strcmp(best->metric, "relative") == 0 ? "at equal speed" : "";
            if (vec_push(parts, part) != 0)
                return -ENOMEM;
        }
    }
    if (parts->count > 0)
        qsort(parts->items, parts->count, sizeof(*parts->items), by_part);
    return 0;
}

/* Several runs only: if totals vary with the machine, the duration of one range is more precise. */
static int add_durations(struct compare *compare, uint64_t limit, size_t *left)
{
    static const struct section section = {
        .title = "Ranges that surely changed: the duration of one",
        .label = "range",
        .place = " ",
        .kinds = {"range", "overlapping", "track"},
        .sure = true,
    };
    struct compare_parts parts = {0};
    if (compare_is_single(compare))
        return 0;
    int rc = find_durations(compare, &section, &parts);
    size_t room = *left < SECTION_ROWS ? *left : SECTION_ROWS;
    size_t most = limit && limit < parts.count ? limit : room < parts.count ? room : parts.count;
    struct rows *rows = rc == 0 && most > 0 ? new_rows(most) : NULL;
    for (size_t i = 0; rows && i < most && rc == 0; i++)
        rc = add_row(compare, rows, &parts.items[i]);
    vec_free(&parts);
    if (!rows || rc < 0) {
        free(rows);
        return rc < 0 || most == 0 ? rc : -ENOMEM;
    }
    rows->plain = rows->count;
    *left -= rows->count < *left ? rows->count : *left;
    return new_table(compare, &section, "changes_durations", rows)->title ? 0 : -ENOMEM;
}

/* ---- The screen ------------------------------------------------------------------------------ */

int compare_screen(struct compare *compare, uint64_t limit, const struct table **ret_tables)
{
    size_t left = SECTIONS_ROWS;
    int rc = 0;
    for (size_t i = 0; i < compare->screen_count; i++)
        table_fini(&compare->screen[i]);
    compare->screen_count = 0;
    compare->story.marked = false;
    if (is_wanted(compare, &sections[0]))
        rc = add_section(compare, &sections[0], limit, &left);
    if (rc == 0 && compare->story.basis != COMPARE_BY_NOTHING)
        rc = add_main(compare, limit);
    if (rc == 0)
        rc = add_durations(compare, limit, &left);
    for (size_t i = 1; i < sizeof(sections) / sizeof(*sections) && rc == 0; i++)
        if (is_wanted(compare, &sections[i]))
            rc = add_section(compare, &sections[i], limit, &left);
    for (size_t i = 0; i < compare->screen_count; i++)
        ret_tables[i] = &compare->screen[i];
    return rc < 0 ? rc : (int)compare->screen_count;
}
