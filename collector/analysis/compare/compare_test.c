/* SPDX-License-Identifier: MIT */
/* Tests the numbers of each row, at the speed of the machine in each run, and derives verdicts over
 * all rows of all tables. */
#include "compare_test.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_screen.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TESTED_MAX = 300 }; /* of a table: the largest rows */

/* More samples make an estimate no more certain. */
#define ESTIMATE_SAMPLES_MAX 1e6

#define LEVEL       0.95
#define SURE_P      0.05
#define LEAST_SHARE 0.01 /* of the largest row: smaller rows are not tested */

/* ---- One number of a row --------------------------------------------------------------------- */

static double value_of(const struct compare *compare, const struct compare_cell *cell, size_t run)
{
    return cell->row->values[compare_at(compare, cell->metric, run)];
}

static bool is_known(const struct compare *compare, const struct compare_cell *cell)
{
    for (size_t run = 0; run < compare->counts[COMPARE_A] + compare->counts[COMPARE_B]; run++)
        if (!isnan(value_of(compare, cell, run)))
            return true;
    return false;
}

size_t compare_gather(const struct compare *compare, const struct compare_cell *cell,
                      struct compare_sample *ret_values)
{
    bool sum = compare_kinds[cell->kind].metrics[cell->metric].flags & METRIC_SUM;
    bool filled = sum && is_known(compare, cell);
    for (int side = 0; side < COMPARE_SIDES; side++) {
        size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0, count = 0;
        for (size_t i = 0; i < compare->counts[side]; i++) {
            double value = value_of(compare, cell, from + i);
            if (filled || !isnan(value))
                ret_values->of[side][count++] = isnan(value) ? 0 : value;
        }
        ret_values->counts[side] = count;
    }
    return ret_values->counts[COMPARE_A] + ret_values->counts[COMPARE_B];
}

static double middle_of(const double *values, size_t count)
{
    double sorted[COMPARE_RUNS_MAX];
    if (count == 0)
        return NAN;
    memcpy(sorted, values, count * sizeof(*values));
    return compare_middle(sorted, count, LEVEL).median;
}

/* The difference is that of the shown numbers; the interval of the test's estimate is extended to
 * include it. */
static int set_test(struct compare_result *result, const struct compare_test *test, double scale)
{
    result->low = fmin(test->low * scale, result->shift);
    result->high = fmax(test->high * scale, result->shift);
    result->p = test->p;
    return 0;
}

/* A difference between two counts without error is sure. */
static int set_exact(struct compare_result *result)
{
    result->low = result->high = result->shift;
    result->p = result->shift < 0 || result->shift > 0 ? 0 : 1;
    return 0;
}

/* Tests sums of samples, each of which stands for `a_period` or `b_period`. */
static int set_counts(struct compare_result *result, double a_period, double b_period, double level)
{
    struct compare_test test =
        compare_counts((uint64_t)llround(result->a / a_period),
                       (uint64_t)llround(result->b / b_period), a_period / b_period, level);
    result->measured = COMPARE_OF_SAMPLES;
    return set_test(result, &test, result->a);
}

/* Estimates, by as many samples of equal size as give the deviations together. */
static int measure_estimates(const struct compare *compare, const struct compare_cell *cell,
                             double level, struct compare_result *result)
{
    const struct compare_cell deviation = {cell->kind, cell->row, cell->metric + 1};
    double a = value_of(compare, &deviation, 0), b = value_of(compare, &deviation, 1);
    double whole = result->a + result->b;
    double squares = (isnan(a) ? 0 : a * a) + (isnan(b) ? 0 : b * b);
    if (isnan(result->a) || isnan(result->b) || (isnan(a) && isnan(b)))
        return 0;
    if (!(squares > 0) || !(whole > 0))
        return set_exact(result);
    double period = fmax(squares / whole, whole / ESTIMATE_SAMPLES_MAX);
    return set_counts(result, period, period, level);
}

/* Tests one run a side: by its durations, or by its samples. */
static int measure_single(const struct compare *compare, const struct compare_cell *cell,
                          double level, struct compare_result *result)
{
    const struct compare_row *row = cell->row;
    unsigned flags = compare_kinds[cell->kind].metrics[cell->metric].flags;
    double a_period = compare->runs[0].period_ns, b_period = compare->runs[1].period_ns;
    const size_t *counts = row->batch_counts;
    struct compare_test test;
    if ((flags & METRIC_EACH) && counts[COMPARE_A] > 1 && counts[COMPARE_B] > 1) {
        int rc = compare_groups((struct compare_group){row->batches[COMPARE_A], counts[COMPARE_A]},
                                (struct compare_group){row->batches[COMPARE_B], counts[COMPARE_B]},
                                level, &test);
        result->measured = COMPARE_OF_DURATIONS;
        result->a_count = (uint32_t)counts[COMPARE_A];
        result->b_count = (uint32_t)counts[COMPARE_B];
        return rc < 0 ? rc : set_test(result, &test, 1);
    }
    if (flags & METRIC_ESTIMATE)
        return measure_estimates(compare, cell, level, result);
    if (!(flags & METRIC_SAMPLED) || !(a_period > 0) || !(b_period > 0) || isnan(result->a) ||
        isnan(result->b))
        return 0;
    return set_counts(result, a_period, b_period, level);
}

static uint32_t count_some(const double *values, size_t count)
{
    uint32_t some = 0;
    for (size_t i = 0; i < count; i++)
        some += values[i] < 0 || values[i] > 0;
    return some;
}

int compare_measure(const struct compare *compare, const struct compare_cell *cell, double level,
                    struct compare_result *ret_result)
{
    const struct compare_kind *kind = &compare_kinds[cell->kind];
    const struct compare_metric *what = &kind->metrics[cell->metric];
    struct compare_sample values;
    compare_gather(compare, cell, &values);
    const double *a = values.of[COMPARE_A], *b = values.of[COMPARE_B];
    size_t a_count = values.counts[COMPARE_A], b_count = values.counts[COMPARE_B];
    *ret_result = (struct compare_result){
        .row = cell->row,
        .kind = kind->word,
        .name = cell->row->name,
        .place = cell->row->place,
        .old_name = cell->row->old_name,
        .old_place = cell->row->old_place,
        .own = cell->row->own,
        .metric = what->word,
        .unit = cell->kind == 0 ? cell->row->unit : what->unit,
        .a = middle_of(a, a_count),
        .b = middle_of(b, b_count),
        .low = NAN,
        .high = NAN,
        .p = NAN,
        .adjusted = NAN,
        .a_count = (uint32_t)a_count,
        .b_count = (uint32_t)b_count,
        .a_some = count_some(a, a_count),
        .b_some = count_some(b, b_count),
    };
    ret_result->shift = ret_result->b - ret_result->a;
    if (a_count == 0 || b_count == 0 || level <= 0)
        return 0;
    if (compare_is_single(compare))
        return measure_single(compare, cell, level, ret_result);
    struct compare_test test;
    int rc = compare_groups((struct compare_group){a, a_count}, (struct compare_group){b, b_count},
                            level, &test);
    return rc < 0 ? rc : set_test(ret_result, &test, 1);
}

/* ---- The speed of the machine -----------------------------------------------------------------
 *
 * Estimated for each run from unchanged ranges. Neighbours on a processor, its clock and its caches
 * slow down a run as a whole, mostly by more than the differences of interest. Ranges that only run
 * are affected equally: the common factor of most of them is the run's speed. A range that differs
 * between the sides from the others has changed, and is no measure of the speed; the most different
 * ones are left out, one by one, until the rest agree. If fewer than half of all remain, it is
 * unknown which ones have changed. */

/* The ranges with the most time. */
enum { CANDIDATES_MAX = 64, CANDIDATES_MIN = 3, RUNS_MIN = 4 };

#define LEAST_SHIFT 0.0025

struct candidate {
    double *logs; /* of "undisturbed", minus their median */
    double total;
    bool changed;
};

struct speeds {
    struct compare *compare;
    size_t runs, each, relative, count, left;
    struct candidate candidates[CANDIDATES_MAX];
    double *of_run; /* logarithms */
};

static bool is_everywhere(const struct speeds *s, const struct compare_row *row)
{
    for (size_t run = 0; run < s->runs; run++)
        if (!(row->values[compare_at(s->compare, (unsigned)s->each, run)] > 0))
            return false;
    return true;
}

static int by_total(const void *left, const void *right)
{
    double a = ((const struct candidate *)left)->total;
    double b = ((const struct candidate *)right)->total;
    return a < b ? 1 : a > b ? -1 : 0;
}

static double middle_in_place(double *values, size_t count)
{
    return compare_middle(values, count, 0.95).median;
}

/* 0 or -ENOMEM. */
static int add_candidate(struct speeds *s, const struct compare_row *row)
{
    struct candidate *candidate = &s->candidates[s->count];
    double *sorted = malloc(s->runs * sizeof(*sorted));
    double *logs = malloc(s->runs * sizeof(*logs));
    if (!sorted || !logs) {
        free(sorted);
        free(logs);
        return -ENOMEM;
    }
    for (size_t run = 0; run < s->runs; run++)
        sorted[run] = logs[run] = log(row->values[compare_at(s->compare, (unsigned)s->each, run)]);
    double middle = middle_in_place(sorted, s->runs);
    for (size_t run = 0; run < s->runs; run++)
        logs[run] -= middle;
    free(sorted);
    *candidate = (struct candidate){.logs = logs, .total = row->values[0]};
    s->count++;
    if (s->count == CANDIDATES_MAX) { /* drops the least */
        qsort(s->candidates, s->count, sizeof(*s->candidates), by_total);
        free(s->candidates[--s->count].logs);
    }
    return 0;
}

static int find_candidates(struct speeds *s, const struct compare_list *list)
{
    int rc = 0;
    for (size_t i = 0; i < list->rows.count && rc == 0; i++)
        if (list->rows.items[i].speed && is_everywhere(s, &list->rows.items[i]))
            rc = add_candidate(s, &list->rows.items[i]);
    s->left = s->count;
    return rc;
}

/* Uses the median at first, as changed ranges may be among the candidates. */
static void find_speeds(struct speeds *s, bool first)
{
    for (size_t run = 0; run < s->runs; run++) {
        double values[CANDIDATES_MAX], sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < s->count; i++)
            if (!s->candidates[i].changed)
                sum += values[count++] = s->candidates[i].logs[run];
        s->of_run[run] = first ? middle_in_place(values, count) : sum / (double)count;
    }
}

/* Marks the surely most different candidate as changed. Returns 1; 0: all agree; -ENOMEM. */
static int leave_one_out(struct speeds *s)
{
    size_t a_count = s->compare->counts[COMPARE_A], most_at = s->count;
    double values[COMPARE_SIDES * COMPARE_RUNS_MAX], most = LEAST_SHIFT;
    for (size_t i = 0; i < s->count; i++) {
        struct compare_test test;
        if (s->candidates[i].changed)
            continue;
        for (size_t run = 0; run < s->runs; run++)
            values[run] = s->candidates[i].logs[run] - s->of_run[run];
        int rc = compare_groups((struct compare_group){values, a_count},
                                (struct compare_group){values + a_count, s->runs - a_count}, 0.95,
                                &test);
        if (rc < 0)
            return rc;
        if (test.p <= SURE_P / (double)s->left && fabs(test.shift) > most) {
            most = fabs(test.shift);
            most_at = i;
        }
    }
    if (most_at == s->count)
        return 0;
    s->candidates[most_at].changed = true;
    s->left--;
    return 1;
}

static void set_relative(const struct speeds *s, struct compare_row *row)
{
    for (size_t run = 0; run < s->runs && row->bound; run++) {
        double each = row->values[compare_at(s->compare, (unsigned)s->each, run)];
        row->values[compare_at(s->compare, (unsigned)s->relative, run)] =
            each * exp(-s->of_run[run]);
    }
}

/* 1: the speeds are known; 0: unknown; -ENOMEM. */
static int settle(struct speeds *s)
{
    int rc = 1;
    if (s->count < CANDIDATES_MIN)
        return 0;
    for (bool first = true; rc > 0; first = false) {
        find_speeds(s, first);
        rc = leave_one_out(s);
        if (rc > 0 && (s->left < 2 || 2 * s->left < s->count))
            return 0;
    }
    find_speeds(s, false);
    return rc < 0 ? rc : 1;
}

/* Computes METRIC_RELATIVE. 0 or -ENOMEM. */
static int even_out(struct compare *compare)
{
    const struct compare_kind *kind = compare_kind_find("range", 5);
    struct compare_list *list = &compare->lists[kind - compare_kinds];
    size_t a_count = compare->counts[COMPARE_A], b_count = compare->counts[COMPARE_B];
    struct speeds s = {.compare = compare, .runs = a_count + b_count};
    if (a_count < RUNS_MIN || b_count < RUNS_MIN)
        return 0;
    s.each = (size_t)compare_metric_find(kind, "undisturbed");
    s.relative = (size_t)compare_metric_find(kind, "relative");
    s.of_run = calloc(s.runs, sizeof(*s.of_run));
    int rc = s.of_run ? find_candidates(&s, list) : -ENOMEM;
    if (rc == 0)
        rc = settle(&s);
    for (size_t i = 0; i < list->rows.count && rc > 0; i++)
        set_relative(&s, &list->rows.items[i]);
    compare->references = rc > 0 ? s.left : 0;
    for (size_t i = 0; i < s.count; i++)
        free(s.candidates[i].logs);
    free(s.of_run);
    return rc < 0 ? rc : 0;
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

/* Returns NEW or GONE if all runs of one side have it and no run of the other. */
static enum compare_verdict presence_of(const struct compare *compare,
                                        const struct compare_result *result)
{
    if (result->a_some == 0 && result->b_some == compare->counts[COMPARE_B])
        return COMPARE_NEW;
    if (result->b_some == 0 && result->a_some == compare->counts[COMPARE_A])
        return COMPARE_GONE;
    return COMPARE_UNSURE;
}

static enum compare_verdict verdict_of(const struct compare_result *result)
{
    double whole = fabs(result->a), change = fabs(result->shift);
    bool sure = !isnan(result->adjusted) && result->adjusted <= SURE_P &&
                !(result->low < 0 && result->high > 0);
    if (isnan(result->p))
        return COMPARE_ONE_RUN;
    if (sure && change >= COMPARE_LEAST_CHANGE * whole && change > 0)
        return result->shift > 0 ? COMPARE_MORE : COMPARE_LESS;
    if (fabs(result->low) <= COMPARE_SAME_CHANGE * whole &&
        fabs(result->high) <= COMPARE_SAME_CHANGE * whole)
        return COMPARE_SAME;
    return COMPARE_UNSURE;
}

/* Returns the size of the larger side. */
static double size_of(const struct compare_result *result)
{
    double a = isnan(result->a) ? 0 : fabs(result->a), b = isnan(result->b) ? 0 : fabs(result->b);
    return a > b ? a : b;
}

/* By the row's first number: its total time. */
static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Finds the minimum size of tested rows: the more rows are tested, the less conclusive each test
 * is. */
static int find_least(const struct compare_list *list, const double *sizes, double *ret_least)
{
    size_t count = list->rows.count;
    double *sorted = malloc((count + 1) * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, sizes, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_size);
    *ret_least = count ? LEAST_SHARE * sorted[0] : 0;
    if (count > TESTED_MAX && sorted[TESTED_MAX] > *ret_least)
        *ret_least = sorted[TESTED_MAX];
    free(sorted);
    return 0;
}

/* Returns true if a row is large enough to be tested. All numbers of whole runs are, as their sizes
 * are not comparable: wall time and memory. */
static bool is_tested(size_t kind, double size, double least)
{
    return kind == 0 || (size > 0 && size >= least);
}

static int add_results(struct compare *compare, size_t kind, const double *sizes, double least)
{
    struct compare_list *list = &compare->lists[kind];
    const struct compare_metric *metrics = compare_kinds[kind].metrics;
    for (size_t i = 0; i < list->rows.count; i++) {
        list->rows.items[i].first_result = list->results.count;
        for (unsigned metric = 0; metric < METRICS_MAX && metrics[metric].word; metric++) {
            struct compare_result result;
            if (!(metrics[metric].flags & METRIC_TESTED))
                continue;
            bool tested = is_tested(kind, sizes[i], least);
            const struct compare_cell cell = {kind, &list->rows.items[i], metric};
            int rc = compare_measure(compare, &cell, tested ? LEVEL : 0, &result);
            if (rc < 0)
                return rc;
            if (result.a_some + result.b_some == 0)
                continue;
            if (!tested)
                result.verdict = COMPARE_UNTESTED;
            if (vec_push(&list->results, result) != 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* The wall time is the main question: it is judged alone. */
static bool is_first(const struct compare_result *result)
{
    return strcmp(result->kind, compare_kinds[0].word) == 0 && strcmp(result->name, "wall") == 0;
}

/* Returns the next other result with a test, over all tables; NULL: end. */
static struct compare_result *next_tested(struct compare *compare, size_t *kind, size_t *at)
{
    for (; *kind < compare_kind_count; (*kind)++, *at = 0) {
        struct compare_list *list = &compare->lists[*kind];
        while (*at < list->results.count) {
            struct compare_result *result = &list->results.items[(*at)++];
            if (result->verdict != COMPARE_UNTESTED && !isnan(result->p) && !is_first(result))
                return result;
        }
    }
    return NULL;
}

static int adjust(struct compare *compare)
{
    struct compare_result *result;
    size_t kind = 0, at = 0, count = 0;
    while (next_tested(compare, &kind, &at))
        count++;
    double *p = malloc((count + 1) * sizeof(*p));
    if (!p)
        return -ENOMEM;
    compare->tested = count;
    for (kind = at = count = 0; (result = next_tested(compare, &kind, &at));)
        p[count++] = result->p;
    int rc = compare_adjust(p, count);
    for (kind = at = count = 0; (result = next_tested(compare, &kind, &at));)
        result->adjusted = p[count++];
    for (at = 0; at < compare->lists[0].results.count; at++) {
        result = &compare->lists[0].results.items[at];
        if (is_first(result))
            result->adjusted = result->p;
    }
    free(p);
    return rc;
}

static void judge(struct compare *compare, size_t kind)
{
    struct compare_list *list = &compare->lists[kind];
    for (size_t i = 0; i < list->results.count; i++) {
        struct compare_result *result = &list->results.items[i];
        int metric = compare_metric_find(&compare_kinds[kind], result->metric);
        bool reported = compare_kinds[kind].metrics[metric].flags & METRIC_REPORTED;
        enum compare_verdict presence = reported ? presence_of(compare, result) : COMPARE_UNSURE;
        if (result->verdict != COMPARE_UNTESTED)
            result->verdict = (uint8_t)(presence ? presence : verdict_of(result));
    }
}

static int test_kind(struct compare *compare, size_t kind)
{
    struct compare_list *list = &compare->lists[kind];
    double *sizes = calloc(list->rows.count + 1, sizeof(*sizes)), least = 0;
    int rc = sizes ? 0 : -ENOMEM;
    for (size_t i = 0; i < list->rows.count && rc == 0; i++) {
        const struct compare_cell cell = {kind, &list->rows.items[i], 0};
        struct compare_result result;
        rc = compare_measure(compare, &cell, 0, &result);
        sizes[i] = size_of(&result);
    }
    if (rc == 0)
        rc = find_least(list, sizes, &least);
    if (rc == 0)
        rc = add_results(compare, kind, sizes, least);
    free(sizes);
    return rc;
}

int compare_finish(struct compare *compare)
{
    int rc = compare_match(compare);
    if (rc == 0)
        rc = even_out(compare);
    for (size_t kind = 0; kind < compare_kind_count && rc == 0; kind++)
        rc = test_kind(compare, kind);
    if (rc == 0)
        rc = adjust(compare);
    for (size_t kind = 0; kind < compare_kind_count && rc == 0; kind++)
        judge(compare, kind);
    return rc < 0 ? rc : compare_find_story(compare);
}

static struct compare_result *first_of(struct compare *compare)
{
    for (size_t i = 0; i < compare->lists[0].results.count; i++)
        if (is_first(&compare->lists[0].results.items[i]))
            return &compare->lists[0].results.items[i];
    return NULL;
}

int compare_adjust_walls(struct compare *const *pairs, size_t count)
{
    double *p = malloc((count + 1) * sizeof(*p));
    size_t used = 0;
    if (!p)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct compare_result *wall = first_of(pairs[i]);
        if (wall && !isnan(wall->p))
            p[used++] = wall->p;
    }
    int rc = compare_adjust(p, used);
    for (size_t i = used = 0; i < count && rc == 0; i++) {
        struct compare_result *wall = first_of(pairs[i]);
        if (!wall || isnan(wall->p))
            continue;
        wall->adjusted = p[used++];
        wall->verdict = (uint8_t)verdict_of(wall);
    }
    free(p);
    return rc;
}

size_t compare_tested(const struct compare *compare, size_t *ret_possible)
{
    double p = compare_p_min(compare->counts[COMPARE_A], compare->counts[COMPARE_B]);
    *ret_possible = compare_is_single(compare) ? SIZE_MAX : (size_t)(SURE_P / p);
    return compare->tested;
}
