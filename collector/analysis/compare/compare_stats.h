/* SPDX-License-Identifier: MIT */
/* Tests whether a difference between two groups of measurements exceeds chance.
 *
 * All tests use ranks, so that a few disturbed measurements count no more than others, and no
 * distribution of the noise is assumed. Estimates are Hodges-Lehmann estimates, and their interval
 * contains all values that the same test does not reject; both are in the unit of the measurements.
 * The tests are deterministic: the same numbers give the same result. For few measurements,
 * probabilities are exact (ties included), else normal approximations with corrections for ties and
 * continuity. Thread-safety: pure functions. */
#ifndef ANNOT_COMPARE_STATS_H
#define ANNOT_COMPARE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Groups up to this size have exact probabilities. */
enum { COMPARE_EXACT_MAX = 20 };

/* Maximum of measurements of a group. */
enum { COMPARE_VALUES_MAX = 512 };

struct compare_test {
    double shift;     /* estimate of B - A */
    double low, high; /* its interval; infinite: too few measurements */
    double p; /* probability of such a difference or a larger one by chance; 1: no difference */
};

/* At most COMPARE_VALUES_MAX values. */
struct compare_group {
    const double *values;
    size_t count;
};

/* Tests two independent groups: Mann and Whitney. `level`: of the interval, 0.95. Both have values.
 * 0 or -ENOMEM. */
int compare_groups(struct compare_group a, struct compare_group b, double level,
                   struct compare_test *ret_test);

/* Median of one group, and its interval by the sign test. Sorts `values`. */
struct compare_middle {
    double median, low, high; /* low, high: infinite for too few values */
};

struct compare_middle compare_middle(double *values, size_t count, double level);

/* Mean of one group, and half of its interval by Student's t; infinite for one value. All values
 * count, disturbed ones too. */
struct compare_mean {
    double mean, half;
};

struct compare_mean compare_mean(struct compare_group group, double level);

/* Tests counts of random events, such as samples of a function: whether `b` exceeds `a` at the same
 * rate. The shift is that of B's rate relative to A's (0.1: a tenth more), the interval exact
 * (Clopper and Pearson). `exposure`: that of B relative to A's. */
struct compare_test compare_counts(uint64_t a, uint64_t b, double exposure, double level);

/* Holm's adjustment: replaces `p`, such that in 95 of 100 comparisons no result with p at most 0.05
 * is due to chance, for any dependence between the tests. 0 or -ENOMEM. */
int compare_adjust(double *p, size_t count);

/* Counts the values that lie too far out to belong to the group: farther from its median than 3.5
 * standard deviations, estimated from the half of the values nearest to the median. Writes 1 for
 * each of them into `ret_out`, else 0. `count` at most COMPARE_VALUES_MAX; groups of fewer than 4
 * values have no outliers. */
size_t compare_outliers(const double *values, size_t count, uint8_t *ret_out);

/* Returns the smallest p possible for groups of these sizes. */
double compare_p_min(size_t a_count, size_t b_count);

#endif
