/* SPDX-License-Identifier: MIT */
/* Checks the tests of compare_stats.h against examples with published or easily counted results,
 * and against their guarantees: intervals that contain the truth, and a low rate of false
 * alarms. */
#include "compare_stats.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

#define GROUP(values) ((struct compare_group){(values), sizeof(values) / sizeof(*(values))})

static bool is_near(double got, double wanted, double off)
{
    return fabs(got - wanted) <= off;
}

#define CHECK_NEAR(got, wanted, off)                                                               \
    do {                                                                                           \
        double got_ = (got), wanted_ = (wanted);                                                   \
        if (!is_near(got_, wanted_, (off)))                                                        \
            test_fail(__FILE__, __LINE__, #got " is %.9g, not %.9g", got_, wanted_);               \
    } while (0)

static struct compare_test groups(struct compare_group a, struct compare_group b)
{
    struct compare_test test;
    CHECK_INT(compare_groups(a, b, 0.95, &test), 0);
    return test;
}

/* Permeability of membranes (Hollander and Wolfe, table 4.1): W = 35, and the other order. */
TEST(a_published_example_has_its_probability)
{
    static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    static const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    struct compare_test test = groups(GROUP(term), GROUP(early));
    CHECK_NEAR(test.p, 0.254412254, 1e-6);
    CHECK_NEAR(test.shift, -0.305, 1e-9);
    CHECK_NEAR(test.low, -0.76, 1e-9);
    CHECK_NEAR(test.high, 0.15, 1e-9);
    CHECK_NEAR(groups(GROUP(early), GROUP(term)).p, test.p, 1e-12);
}

/* All 184,756 ways to split twenty ranks are equally likely: the two extreme ones. */
TEST(groups_that_do_not_overlap_have_the_smallest_probability)
{
    static const double a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const double b[] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    static const double c[] = {1, 2, 3}, d[] = {4, 5, 6};
    CHECK_NEAR(groups(GROUP(a), GROUP(b)).p, 2.0 / 184756, 1e-15);
    CHECK_NEAR(compare_p_min(10, 10), 2.0 / 184756, 1e-12);
    CHECK_NEAR(groups(GROUP(a), GROUP(b)).shift, 10, 1e-12);
    CHECK_NEAR(groups(GROUP(c), GROUP(d)).p, 0.1, 1e-12);
    CHECK_NEAR(compare_p_min(3, 3), 0.1, 1e-12);
    CHECK_NEAR(compare_p_min(1, 1), 1, 1e-12);
}

TEST(three_a_side_have_no_interval)
{
    static const double a[] = {1, 2, 3}, b[] = {4, 5, 6}, one[] = {7};
    CHECK(isinf(groups(GROUP(a), GROUP(b)).low));
    CHECK(isinf(groups(GROUP(a), GROUP(b)).high));
    CHECK_NEAR(groups(GROUP(a), GROUP(b)).shift, 3, 1e-12);
    CHECK(isinf(groups(GROUP(one), GROUP(one)).low));
    CHECK_NEAR(groups(GROUP(one), GROUP(one)).p, 1, 1e-12);
}

/* Pairs of 2, 2 and 1, 3: counted by hand. Equal numbers are no difference. */
TEST(ties_are_counted_exactly)
{
    static const double same[] = {5, 5, 5, 5, 5}, a[] = {1, 2, 2}, b[] = {2, 3, 3};
    CHECK_NEAR(groups(GROUP(same), GROUP(same)).p, 1, 1e-12);
    CHECK_NEAR(groups(GROUP(same), GROUP(same)).low, 0, 1e-12);
    /* Ranks 1, 3, 3, 3, 5.5, 5.5: B has 14 of 21, as far off as 7: 3 of 20 ways, and 3. */
    CHECK_NEAR(groups(GROUP(a), GROUP(b)).p, 6.0 / 20, 1e-12);
}

static uint64_t random_state = 88172645463325252u;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* Typical times: mostly similar, sometimes much longer. */
static double noisy(void)
{
    double value = 100 + uniform() + uniform();
    return uniform() < 0.1 ? value * (1 + 5 * uniform()) : value;
}

static void fill(double *values, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        values[i] = factor * noisy();
}

TEST_TIMEOUT(equal_groups_seldom_differ_and_intervals_hold_the_truth, 60)
{
    static const size_t counts[] = {4, 10, 20, 60};
    for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
        int alarms = 0, misses = 0;
        for (int i = 0; i < 400; i++) {
            double a[60], b[60];
            fill(a, counts[k], 1);
            fill(b, counts[k], 1);
            struct compare_test test =
                groups((struct compare_group){a, counts[k]}, (struct compare_group){b, counts[k]});
            alarms += test.p <= 0.05;
            misses += test.low > 0 || test.high < 0;
        }
        /* 20 of 400 by chance, give or take 13 at three deviations. */
        CHECK(alarms <= 33);
        CHECK(misses <= 33);
    }
}

TEST(three_percent_are_seen_in_ten_noisy_runs)
{
    int seen = 0;
    for (int i = 0; i < 100; i++) {
        double a[10], b[10];
        fill(a, 10, 1);
        fill(b, 10, 1.03);
        seen += groups(GROUP(a), GROUP(b)).p <= 0.05;
    }
    CHECK(seen >= 85);
}

/* The exact method and the normal approximation agree at the switch between them. */
TEST(large_groups_agree_with_small_ones)
{
    double a[21], b[21];
    fill(a, 21, 1);
    fill(b, 21, 1.004);
    struct compare_test exact =
        groups((struct compare_group){a, 20}, (struct compare_group){b, 20});
    struct compare_test normal =
        groups((struct compare_group){a, 21}, (struct compare_group){b, 20});
    CHECK(exact.p > 0 && normal.p > 0);
    CHECK_NEAR(log(exact.p), log(normal.p), 1);
    CHECK_NEAR(exact.low, normal.low, 1);
}

TEST(a_median_has_an_interval_by_signs)
{
    double ten[] = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5}, five[] = {5, 4, 3, 2, 1};
    struct compare_middle middle = compare_middle(ten, 10, 0.95);
    CHECK_NEAR(middle.median, 5.5, 1e-12);
    CHECK_NEAR(middle.low, 2, 1e-12); /* 2 * 11 / 1024 are beyond the second one */
    CHECK_NEAR(middle.high, 9, 1e-12);
    CHECK(isinf(compare_middle(five, 5, 0.95).low)); /* 2 / 32 */
    CHECK_NEAR(compare_middle(five, 5, 0.9).low, 1, 1e-12);
}

TEST(counts_have_exact_intervals)
{
    struct compare_test test = compare_counts(10, 20, 1, 0.95);
    CHECK_NEAR(test.shift, 1, 1e-12);
    CHECK_NEAR(test.p, 0.0987371, 1e-6); /* of 30 coins, 10 or fewer heads, twice */
    CHECK_NEAR(test.low, -0.1065, 1e-3); /* 20 of 30: 0.4719 to 0.8271 */
    CHECK_NEAR(test.high, 3.7846, 1e-3);
    CHECK_NEAR(compare_counts(100, 100, 1, 0.95).p, 1, 1e-9);
    CHECK_NEAR(compare_counts(100, 200, 2, 0.95).shift, 0, 1e-12);
    CHECK(compare_counts(1000, 2000, 1, 0.95).p < 1e-20);
    CHECK(isinf(compare_counts(0, 20, 1, 0.95).high));
    CHECK_NEAR(compare_counts(20, 0, 1, 0.95).low, -1, 1e-9);
    CHECK_NEAR(compare_counts(0, 0, 1, 0.95).p, 1, 1e-12);
}

/* 2.262157 is the published quantile of t with 9 degrees of freedom, 12.7062 with one. */
TEST(a_mean_has_an_interval_by_students_t)
{
    static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, two[] = {1, 3}, one[] = {5};
    struct compare_mean mean = compare_mean(GROUP(values), 0.95);
    CHECK_NEAR(mean.mean, 5.5, 1e-12);
    CHECK_NEAR(mean.half, 2.262157 * 3.0276504 / sqrt(10), 1e-5);
    CHECK_NEAR(compare_mean(GROUP(two), 0.95).half, 12.7062, 1e-3);
    CHECK(isinf(compare_mean(GROUP(one), 0.95).half));
}

TEST(holm_raises_the_smallest_most)
{
    double p[] = {0.01, 0.04, 0.03, 0.005, 1};
    CHECK_INT(compare_adjust(p, 5), 0);
    CHECK_NEAR(p[3], 0.025, 1e-12);
    CHECK_NEAR(p[0], 0.04, 1e-12);
    CHECK_NEAR(p[2], 0.09, 1e-12);
    CHECK_NEAR(p[1], 0.09, 1e-12);
    CHECK_NEAR(p[4], 1, 1e-12);
    CHECK_INT(compare_adjust(p, 0), 0);
}

TEST(an_outlier_is_named_and_noise_is_none)
{
    static const double values[] = {10, 10.2, 9.9, 10.1, 14, 10, 9.8};
    static const double plain[] = {10, 10.2, 9.9, 10.1, 10.3, 10, 9.8};
    uint8_t out[7];
    CHECK_INT(compare_outliers(values, 7, out), 1);
    CHECK_INT(out[4], 1);
    CHECK_INT(compare_outliers(plain, 7, out), 0);
    CHECK_INT(compare_outliers(values, 3, out), 0);
}
