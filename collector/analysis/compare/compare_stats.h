/* SPDX-License-Identifier: MIT */
/* Is a difference between two groups of measurements more than chance?
 *
 * All tests go by ranks, so that a few measurements that were disturbed count no more than others,
 * and no shape of the noise is assumed. An estimate is the Hodges-Lehmann one, its interval what
 * the same test does not rule out; both are in the unit of the measurements. Nothing is drawn at
 * random: the same numbers give the same answer. Where there are few measurements, probabilities
 * are exact (ties included), else normal approximations with corrections for ties and continuity.
 * Thread-safety: pure functions. */
#ifndef ANNOT_COMPARE_STATS_H
#define ANNOT_COMPARE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Groups up to this size have exact probabilities. */
enum { COMPARE_EXACT_MAX = 20 };

/* At most so many measurements of a group are looked at. */
enum { COMPARE_VALUES_MAX = 512 };

struct compare_test {
    double shift;     /* by how much B is larger */
    double low, high; /* an interval around it; infinite: too few measurements to say */
    double p; /* how often chance alone makes such a difference or a larger one; 1 of none */
};

/* Of COMPARE_VALUES_MAX at most. */
struct compare_group {
    const double *values;
    size_t count;
};

/* Two groups that have nothing to do with each other: Mann and Whitney. `level`: of the interval,
 * 0.95. Neither is empty. 0 or -ENOMEM. */
int compare_groups(struct compare_group a, struct compare_group b, double level,
                   struct compare_test *ret_test);

/* The median of one group, and its interval: by the sign test. `values` are sorted by this. */
struct compare_middle {
    double median, low, high; /* low, high: infinite if there are too few */
};

struct compare_middle compare_middle(double *values, size_t count, double level);

/* The mean of one group, and half of its interval by Student's t; infinite of one value. It goes by
 * every value, disturbed ones too. */
struct compare_mean {
    double mean, half;
};

struct compare_mean compare_mean(struct compare_group group, double level);

/* Numbers of pieces that come up by chance, such as samples of a function: is `b` more than `a` for
 * the same rate? The shift is that of B's rate relative to A's (0.1: a tenth more), the interval
 * exact (Clopper and Pearson). `exposure`: how much of B there was for one of A. */
struct compare_test compare_counts(uint64_t a, uint64_t b, double exposure, double level);

/* Holm: `p` become such that, of all whose p is at most 0.05, none is due to chance in 95 of 100
 * comparisons, however they depend on each other. 0 or -ENOMEM. */
int compare_adjust(double *p, size_t count);

/* How many values lie so far out that they seem no part of the group: farther from its median than
 * 3.5 standard deviations, which half of the values nearest to the median tell. Writes 1 for each
 * of them into `ret_out`, else 0. `count` at most COMPARE_VALUES_MAX; of fewer than 4 there are
 * none. */
size_t compare_outliers(const double *values, size_t count, uint8_t *ret_out);

/* The smallest p that groups of these sizes can have. */
double compare_p_min(size_t a_count, size_t b_count);

#endif
