/* SPDX-License-Identifier: MIT */
/* Ranges at equal speed: only real changes are reported, relative to the speed common to a run. */
#include "compare.h"
#include "compare_kinds.h"
#include "compare_limit.h"
#include "compare_state.h"
#include "compare_test.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 10, RANGES_MAX = 8 };

static uint64_t random_state = 88172645463325252u;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

static size_t range_kind(void)
{
    return (size_t)(compare_kind_find("range", 5) - compare_kinds);
}

static unsigned metric(const char *word)
{
    int found = compare_metric_find(&compare_kinds[range_kind()], word);
    CHECK(found >= 0);
    return (unsigned)found;
}

/* Each run has a random speed, up to a fifth off; each range has a noise of a thousandth. The
 * ranges take `factors` times as long on side B. */
static struct compare *made(const double *factors, size_t ranges)
{
    struct compare *compare = compare_create(RUNS, RUNS);
    double speeds[2 * RUNS];
    CHECK(compare != NULL);
    for (size_t run = 0; run < (size_t)2 * RUNS; run++)
        speeds[run] = 0.9 + 0.2 * uniform();
    for (size_t i = 0; i < ranges; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "range%zu", i);
        struct compare_row *row = compare_row_of(compare, range_kind(), name, (size_t)length);
        CHECK(row != NULL);
        row->name = compare_text(compare, name);
        row->bound = row->speed = true;
        for (size_t run = 0; run < (size_t)2 * RUNS; run++) {
            double value = 1e6 * (double)(i + 1) * speeds[run] * (1 + 0.001 * uniform());
            value *= run < RUNS ? 1 : factors[i];
            row->values[compare_at(compare, metric("total"), run)] = 100 * value;
            row->values[compare_at(compare, metric("each"), run)] = value;
            row->values[compare_at(compare, metric("undisturbed"), run)] = value;
        }
    }
    CHECK_INT(compare_finish(compare), 0);
    return compare;
}

/* The result for "relative"; NULL: missing. */
static const struct compare_result *result_of(const struct compare *compare, size_t range)
{
    const struct compare_result *results;
    size_t count = compare_results(compare, "range", &results);
    char name[16];
    snprintf(name, sizeof(name), "range%zu", range);
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].name, name) == 0 && strcmp(results[i].metric, "relative") == 0)
            return &results[i];
    return NULL;
}

static int verdict_of(const struct compare *compare, size_t range)
{
    const struct compare_result *result = result_of(compare, range);
    CHECK(result != NULL);
    return result->verdict;
}

TEST(one_of_three_that_changed_is_found)
{
    static const double factors[] = {1, 1.03, 1};
    struct compare *compare = made(factors, 3);
    CHECK_INT(compare_reference_count(compare), 2);
    CHECK_INT(verdict_of(compare, 1), COMPARE_MORE);
    CHECK_INT(verdict_of(compare, 0), COMPARE_SAME);
    CHECK_INT(verdict_of(compare, 2), COMPARE_SAME);
    const struct compare_result *result = result_of(compare, 1);
    CHECK(fabs(result->shift / result->a - 0.03) < 0.002);
    compare_destroy(compare);
}

TEST(several_that_changed_are_found)
{
    static const double factors[] = {1, 1.2, 1, 0.95, 1, 1, 1.01};
    static const int verdicts[] = {COMPARE_SAME, COMPARE_MORE, COMPARE_SAME, COMPARE_LESS,
                                   COMPARE_SAME, COMPARE_SAME, COMPARE_MORE};
    struct compare *compare = made(factors, 7);
    CHECK_INT(compare_reference_count(compare), 4);
    for (size_t i = 0; i < 7; i++)
        CHECK_INT(verdict_of(compare, i), verdicts[i]);
    compare_destroy(compare);
}

TEST(two_ranges_cannot_tell_which_of_them_changed)
{
    static const double factors[] = {1, 1.03};
    struct compare *compare = made(factors, 2);
    CHECK_INT(compare_reference_count(compare), 0);
    CHECK(result_of(compare, 0) == NULL);
    compare_destroy(compare);
}

/* All ranges differ from each other: the speed is unknown. */
TEST(without_a_majority_there_is_no_speed)
{
    static const double factors[] = {1, 1.1, 1.2, 1.3, 1.4};
    struct compare *compare = made(factors, 5);
    CHECK_INT(compare_reference_count(compare), 0);
    compare_destroy(compare);
}

/* A change of the whole program is no change of its ranges relative to each other. */
TEST(what_all_have_in_common_is_no_change)
{
    static const double factors[] = {1.3, 1.3, 1.3, 1.3};
    struct compare *compare = made(factors, 4);
    CHECK_INT(compare_reference_count(compare), 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(verdict_of(compare, i), COMPARE_SAME);
    compare_destroy(compare);
}

TEST(equal_sides_seldom_have_an_alarm)
{
    static const double factors[] = {1, 1, 1, 1, 1, 1};
    int alarms = 0;
    for (int i = 0; i < 200; i++) {
        const struct compare_result *results;
        struct compare *compare = made(factors, 6);
        size_t count = compare_results(compare, "range", &results);
        bool any = false;
        for (size_t k = 0; k < count; k++)
            any = any || results[k].verdict == COMPARE_MORE || results[k].verdict == COMPARE_LESS;
        alarms += any;
        compare_destroy(compare);
    }
    CHECK(alarms <= 10 + 9); /* 10 of 200 by chance, three deviations more */
}
