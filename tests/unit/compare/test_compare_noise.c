/* SPDX-License-Identifier: MIT */
/* Comparisons under noise, for many simulated pairs of sides: equal programs are reported as
 * different in at most one of twenty cases, and a change of 5 % is found with enough runs. */
#include "compare.h"
#include "compare_test.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 300, OTHERS = 10 };

static uint64_t state;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 0x1p53;
}

/* A busy machine: most runs are within 2 %, and one in five takes up to half as long again. */
static double noise(void)
{
    double normal = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
    return 1 + 0.02 * normal + (uniform() < 0.2 ? 0.5 * uniform() : 0);
}

static void add(struct compare *compare, size_t runs, const char *name, double change)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t run = 0; run < runs; run++) {
            double value = 1e9 * noise() * (side == COMPARE_B ? 1 + change : 1);
            const struct compare_number number = {(enum compare_side)side, run, name, COLUMN_TIME,
                                                  value};
            CHECK_INT(compare_add_number(compare, &number), 0);
        }
}

struct verdicts {
    unsigned wall, any, wrong, covered; /* out of TRIES */
};

static void count(const struct compare *compare, double change, struct verdicts *verdicts)
{
    const struct compare_result *results;
    size_t many = compare_results(compare, "run", &results);
    bool any = false;
    for (size_t i = 0; i < many; i++) {
        const struct compare_result *result = &results[i];
        bool sure = result->verdict == COMPARE_MORE || result->verdict == COMPARE_LESS;
        bool wall = strcmp(result->name, "wall") == 0;
        CHECK(result->low <= result->shift && result->shift <= result->high);
        any = any || (sure && !wall);
        verdicts->wall += sure && wall;
        verdicts->wrong += sure && wall && (result->shift > 0) != (change > 0);
        verdicts->covered +=
            wall && result->low <= change * 1.05e9 && result->high >= change * 1.0e9;
    }
    verdicts->any += any;
}

static struct verdicts try_all(size_t runs, double change, unsigned others)
{
    struct verdicts verdicts = {0};
    state = 20261128;
    for (int i = 0; i < TRIES; i++) {
        struct compare *compare = compare_create(runs, runs);
        CHECK(compare);
        add(compare, runs, "wall", change);
        for (unsigned k = 0; k < others; k++) {
            char name[2] = {(char)('A' + k), '\0'};
            add(compare, runs, name, 0);
        }
        CHECK_INT(compare_finish(compare), 0);
        count(compare, change, &verdicts);
        compare_destroy(compare);
    }
    return verdicts;
}

TEST(equal_programs_are_called_different_in_one_of_twenty_cases)
{
    static const size_t runs[] = {4, 10, 25};
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        const struct verdicts verdicts = try_all(runs[i], 0, OTHERS);
        CHECK(verdicts.wall <= TRIES * 0.075); /* 5 %, and two standard deviations */
        CHECK(verdicts.any <= TRIES * 0.075);
        CHECK(verdicts.covered >= TRIES * 0.925);
    }
}

TEST(five_percent_are_found_with_enough_runs)
{
    const struct verdicts ten = try_all(10, 0.05, 0), thirty = try_all(30, 0.05, 0);
    CHECK(ten.wall >= TRIES * 0.60);
    CHECK(thirty.wall >= TRIES * 0.95);
    CHECK_INT(ten.wrong + thirty.wrong, 0);
}

TEST(variants_are_judged_together)
{
    unsigned alarms = 0;
    state = 4711;
    for (int i = 0; i < TRIES; i++) {
        struct compare *pairs[8];
        bool any = false;
        for (int k = 0; k < 8; k++) {
            pairs[k] = compare_create(10, 10);
            CHECK(pairs[k]);
            add(pairs[k], 10, "wall", 0);
            CHECK_INT(compare_finish(pairs[k]), 0);
        }
        CHECK_INT(compare_adjust_walls(pairs, 8), 0);
        for (int k = 0; k < 8; k++) {
            const struct compare_result *results;
            CHECK_INT(compare_results(pairs[k], "run", &results), 1);
            any = any || results[0].verdict == COMPARE_MORE || results[0].verdict == COMPARE_LESS;
            compare_destroy(pairs[k]);
        }
        alarms += any;
    }
    CHECK(alarms <= TRIES * 0.075);
}
