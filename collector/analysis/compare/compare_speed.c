/* SPDX-License-Identifier: MIT */
/* The speed of the machine in each run, estimated from unchanged ranges.
 *
 * Neighbours on a processor, its clock and its caches slow down a run as a whole, mostly by more
 * than the differences of interest. Ranges that only run are affected equally: the common factor of
 * most of them is the run's speed. A range that differs between the sides from the others has
 * changed, and is no measure of the speed; the most different ones are left out, one by one, until
 * the rest agree. If fewer than half of all remain, it is unknown which ones have changed. */
#include "compare_speed.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_limit.h"
#include "compare_state.h"
#include "compare_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The ranges with the most time. */
enum { CANDIDATES_MAX = 64, CANDIDATES_MIN = 3, RUNS_MIN = 4 };

#define SURE_P      0.05
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

int compare_even_out(struct compare *compare)
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
