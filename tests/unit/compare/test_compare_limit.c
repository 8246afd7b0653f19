/* SPDX-License-Identifier: MIT */
/* The syntax of --fail-if, and whether a limit fails, holds, or is undecided. */
#include "compare.h"
#include "compare_limit.h"
#include "compare_test.h"
#include "compare_text.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static struct compare_limit parsed(const char *text)
{
    struct compare_limit limit;
    char error[COMPARE_ERROR_SIZE] = "";
    int rc = compare_limit_parse(text, &limit, error);
    CHECK_STR(error, "");
    CHECK_INT(rc, 0);
    return limit;
}

TEST(a_growth_in_percent)
{
    struct compare_limit limit = parsed("load > +5%");
    CHECK_STR(limit.name, "load");
    CHECK(limit.relative && !limit.difference && !limit.below);
    CHECK(limit.kind == NULL && limit.metric == NULL);
    CHECK(fabs(limit.value - 0.05) < 1e-12);
    CHECK(fabs(parsed("  load   >   -2.5%  ").value + 0.025) < 1e-12);
}

TEST(absolute_values_have_units)
{
    struct compare_limit limit = parsed("function:parse self > 3ms");
    CHECK_STR(limit.kind, "function");
    CHECK_STR(limit.name, "parse");
    CHECK_STR(limit.metric, "self");
    CHECK(!limit.relative && !limit.difference);
    CHECK_INT(limit.unit, COLUMN_TIME);
    CHECK(fabs(limit.value - 3e6) < 1e-6);
    CHECK(parsed("memory > 100 MiB").unit == COLUMN_BYTES);
    CHECK(fabs(parsed("memory > 1.5MiB").value - 1572864) < 1e-6);
    CHECK(parsed("load count > 7").unit == COLUMN_COUNT);
    CHECK(parsed("wall < 2s").below);
    CHECK(parsed("load > +3ms").difference);
}

TEST(names_may_be_anything)
{
    CHECK_STR(parsed("http:GET /users p99 > 3ms").name, "http:GET /users");
    CHECK_STR(parsed("http:GET /users p99 > 3ms").metric, "p99");
    CHECK_STR(parsed("std::vector<int>::push_back > +5%").name, "std::vector<int>::push_back");
    CHECK_STR(parsed("\"load total\" > +5%").name, "load total");
    CHECK(parsed("\"load total\" > +5%").metric == NULL);
    CHECK_STR(parsed("\"a > b\" p99 > 5ms").name, "a > b");
    CHECK_STR(parsed("range:\"x\" median > 5ms").metric, "each");
    CHECK_STR(parsed("total > +5%").name, "total");
    CHECK_STR(parsed("load/* > +5%").name, "load/*");
    CHECK_STR(parsed("line:for x in y: > +5%").name, "for x in y:");
}

TEST(what_is_no_limit_says_why)
{
    static const char *const bad[] = {
        "",
        "load",
        "load 5%",
        "> 5ms",
        "load >",
        "load > 5%",
        "load > x",
        "load > 5 apples",
        "load > 5.",
        "load > +",
        "load > nan",
        "load > 1e3",
        "load > inf",
        "load > 0x10",
        "range: > 5ms",
        "\"\" > 5ms",
        "\"x\" nothing > 5ms",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct compare_limit limit;
        char error[COMPARE_ERROR_SIZE] = "";
        if (compare_limit_parse(bad[i], &limit, error) == 0)
            test_fail(__FILE__, __LINE__, "\"%s\" was taken", bad[i]);
        CHECK(error[0] != 0);
    }
}

TEST(a_name_has_a_limit)
{
    char text[1000], error[COMPARE_ERROR_SIZE];
    struct compare_limit limit;
    memset(text, 'x', sizeof(text));
    memcpy(text + 900, " > +5%", 7);
    CHECK(compare_limit_parse(text, &limit, error) < 0);
    memcpy(text + 200, " > +5%", 7);
    CHECK_INT(compare_limit_parse(text, &limit, error), 0);
}

/* ---- Judgements ------------------------------------------------------------------------------ */

static struct compare *sides(size_t runs, double factor)
{
    struct compare *compare = compare_create(runs, runs);
    CHECK(compare != NULL);
    for (size_t i = 0; i < runs; i++) {
        struct compare_number a = {COMPARE_A, i, "wall", COLUMN_TIME, 1e6 + 1e3 * (double)i};
        struct compare_number b = {COMPARE_B, i, "wall", COLUMN_TIME, factor * a.value};
        struct compare_number memory = {COMPARE_B, i, "memory", COLUMN_BYTES, 4096};
        CHECK_INT(compare_add_number(compare, &a), 0);
        CHECK_INT(compare_add_number(compare, &b), 0);
        CHECK_INT(compare_add_number(compare, &memory), 0);
    }
    CHECK_INT(compare_finish(compare), 0);
    return compare;
}

/* The state of a limit on one row; -1: without a row. */
static int state_of(const struct compare *compare, const char *text)
{
    struct compare_limit limit = parsed(text);
    struct compare_judgement *found;
    int64_t count = compare_judge(compare, &limit, &found);
    CHECK(count == 0 || count == 1);
    int state = count ? (int)found[0].state : -1;
    free(found);
    return state;
}

TEST(limits_fail_hold_or_are_undecided)
{
    struct compare *compare = sides(10, 1.05);
    CHECK_INT(state_of(compare, "wall > +1%"), COMPARE_FAILS);
    CHECK_INT(state_of(compare, "wall > +10%"), COMPARE_HOLDS);
    CHECK_INT(state_of(compare, "wall > +5%"), COMPARE_UNDECIDED);
    CHECK_INT(state_of(compare, "wall < +10%"), COMPARE_FAILS);
    CHECK_INT(state_of(compare, "wall < +1%"), COMPARE_HOLDS);
    CHECK_INT(state_of(compare, "wall > 1ms"), COMPARE_FAILS);
    CHECK_INT(state_of(compare, "wall > 1s"), COMPARE_HOLDS);
    CHECK_INT(state_of(compare, "wall > +10us"), COMPARE_FAILS);
    CHECK_INT(state_of(compare, "memory > 1KiB"), COMPARE_FAILS);
    CHECK_INT(state_of(compare, "memory > 1ms"), -1);
    CHECK_INT(state_of(compare, "memory > +1%"), COMPARE_UNDECIDED); /* A lacks it */
    CHECK_INT(state_of(compare, "nothing > +1%"), -1);
    CHECK_INT(state_of(compare, "function:wall > +1%"), -1);
    compare_destroy(compare);
}

TEST(one_run_cannot_decide_about_a_difference)
{
    struct compare *compare = sides(1, 2);
    CHECK_INT(state_of(compare, "wall > +5%"), COMPARE_UNDECIDED);
    CHECK_INT(state_of(compare, "wall > 1ms"), COMPARE_FAILS);
    compare_destroy(compare);
}

TEST(verdicts_follow_the_numbers)
{
    const struct compare_result *results;
    struct compare *compare = sides(10, 1.05);
    CHECK_INT(compare_results(compare, "run", &results), 2);
    CHECK_INT(results[0].verdict, COMPARE_MORE);
    CHECK_STR(compare_verdict_text(&results[0]), "slower");
    compare_destroy(compare);
    compare = sides(10, 1);
    CHECK_INT(compare_results(compare, "run", &results), 2);
    CHECK_INT(results[0].verdict, COMPARE_SAME);
    compare_destroy(compare);
    compare = sides(3, 1.05);
    CHECK_INT(compare_results(compare, "run", &results), 2);
    CHECK_INT(results[0].verdict, COMPARE_UNSURE);
    compare_destroy(compare);
    compare = sides(1, 1.05);
    CHECK_INT(compare_results(compare, "run", &results), 2);
    CHECK_INT(results[0].verdict, COMPARE_ONE_RUN);
    compare_destroy(compare);
}
