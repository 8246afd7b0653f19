/* SPDX-License-Identifier: MIT */
/* The tests of compare_stats.h. Exact probabilities count the possible assignments of the same
 * ranks: sums of ranks are integers of a small range (twice the ranks, as ties have halves), so one
 * array holds the counts of all sums. */
#include "compare_stats.h"

#include "compare_state.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 2 * COMPARE_EXACT_MAX, BOTH_MAX = 2 * COMPARE_VALUES_MAX };

/* The largest sum of twice the ranks in exact tests. */
enum { SUMS_MAX = RANKS_MAX * (RANKS_MAX + 1) + 1 };

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Returns the median of sorted values. */
static double middle_of(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Returns the probability that a normal variable is at least so far from its mean, on either
 * side. */
static double normal_p(double z)
{
    return erfc(fabs(z) / sqrt(2));
}

/* Returns the distance that a normal variable exceeds with probability 1 - level. */
static double normal_z(double level)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        double z = (low + high) / 2;
        if (normal_p(z) > 1 - level)
            low = z;
        else
            high = z;
    }
    return high;
}

/* ---- Ranks ------------------------------------------------------------------------------------
 */

struct ranked {
    double value;
    uint32_t at;
};

static int by_ranked(const void *left, const void *right)
{
    return by_value(&((const struct ranked *)left)->value, &((const struct ranked *)right)->value);
}

/* Computes twice the rank of each value, from 2; ties share a rank. Returns the sum of t^3 - t over
 * the ties, which normal approximations need. */
static double find_ranks(struct ranked *items, size_t count, uint32_t *ret_twice)
{
    double ties = 0;
    qsort(items, count, sizeof(*items), by_ranked);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && items[end].value <= items[first].value;)
            end++;
        double t = (double)(end - first);
        ties += t * t * t - t;
        for (size_t i = first; i < end; i++)
            ret_twice[items[i].at] = (uint32_t)(first + 1 + end);
    }
    return ties;
}

/* Counts the subsets of size `take` of the ranks by their sum: `ret_ways` has SUMS_MAX numbers. 0
 * or -ENOMEM. */
static int count_sums(const uint32_t *twice, size_t count, size_t take, double *ret_ways)
{
    double *ways = calloc((take + 1) * SUMS_MAX, sizeof(*ways));
    size_t reach = 0;
    if (!ways)
        return -ENOMEM;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++) {
        reach += twice[i];
        for (size_t k = i < take ? i + 1 : take; k > 0; k--) {
            double *to = ways + k * SUMS_MAX;
            const double *from = to - SUMS_MAX;
            for (size_t sum = twice[i]; sum <= reach && sum < SUMS_MAX; sum++)
                to[sum] += from[sum - twice[i]];
        }
    }
    memcpy(ret_ways, ways + take * SUMS_MAX, SUMS_MAX * sizeof(*ways));
    free(ways);
    return 0;
}

/* Returns the part of the ways with a sum at least as far from `mean` as `sum`. */
static double part_beyond(const double *ways, double sum, double mean)
{
    double all = 0, beyond = 0;
    for (size_t i = 0; i < SUMS_MAX; i++) {
        all += ways[i];
        if (fabs((double)i - mean) >= fabs(sum - mean) - 0.25)
            beyond += ways[i];
    }
    return beyond < all ? beyond / all : 1;
}

/* Returns the number of smallest differences outside of the interval: sums count from `least` on,
 * in steps of 2, each with one more difference below 0. */
static size_t count_outside(const double *ways, size_t least, double level)
{
    double all = 0, below = 0;
    size_t outside = 0;
    for (size_t i = 0; i < SUMS_MAX; i++)
        all += ways[i];
    while (least + 2 * outside < SUMS_MAX) {
        below += ways[least + 2 * outside];
        if (below > all * (1 - level) / 2)
            break;
        outside++;
    }
    return outside;
}

static void first_ranks(uint32_t *twice, size_t count)
{
    for (size_t i = 0; i < count; i++)
        twice[i] = (uint32_t)(2 * (i + 1));
}

/* Sorts `differences`; `outside` of them are on either side of the interval. */
static void set_interval(double *differences, size_t count, size_t outside,
                         struct compare_test *test)
{
    qsort(differences, count, sizeof(*differences), by_value);
    test->shift = middle_of(differences, count);
    bool any = outside > 0 && 2 * outside <= count;
    test->low = any ? differences[outside - 1] : -INFINITY;
    test->high = any ? differences[count - outside] : INFINITY;
}

/* ---- Two groups ------------------------------------------------------------------------------ */

/* 0 or -ENOMEM. */
static int groups_outside(size_t a_count, size_t b_count, double level, size_t *ret_outside)
{
    uint32_t twice[2 * COMPARE_EXACT_MAX];
    double pairs = (double)a_count * (double)b_count;
    if (a_count > COMPARE_EXACT_MAX || b_count > COMPARE_EXACT_MAX) {
        double deviation = sqrt(pairs * (double)(a_count + b_count + 1) / 12);
        double outside = floor(pairs / 2 - normal_z(level) * deviation);
        *ret_outside = outside > 0 ? (size_t)outside : 0;
        return 0;
    }
    double *ways = malloc(SUMS_MAX * sizeof(*ways));
    first_ranks(twice, a_count + b_count);
    int rc = ways ? count_sums(twice, a_count + b_count, b_count, ways) : -ENOMEM;
    if (rc == 0)
        *ret_outside = count_outside(ways, b_count * (b_count + 1), level);
    free(ways);
    return rc;
}

/* 0 or -ENOMEM. */
static int groups_p(struct ranked *items, size_t a_count, size_t b_count, double *ret_p)
{
    uint32_t twice[BOTH_MAX];
    size_t both = a_count + b_count;
    double ties = find_ranks(items, both, twice), sum = 0;
    for (size_t i = a_count; i < both; i++)
        sum += twice[i];
    double mean = (double)b_count * (double)(both + 1);
    if (a_count > COMPARE_EXACT_MAX || b_count > COMPARE_EXACT_MAX) {
        double n = (double)both;
        double variance =
            (double)a_count * (double)b_count / 12 * (n + 1 - (n > 1 ? ties / (n * (n - 1)) : 0));
        double away = fabs(sum - mean) / 2 - 0.5;
        *ret_p = variance > 0 && away > 0 ? normal_p(away / sqrt(variance)) : 1;
        return 0;
    }
    double *ways = malloc(SUMS_MAX * sizeof(*ways));
    int rc = ways ? count_sums(twice, both, b_count, ways) : -ENOMEM;
    if (rc == 0)
        *ret_p = part_beyond(ways, sum, mean);
    free(ways);
    return rc;
}

int compare_groups(struct compare_group a, struct compare_group b, double level,
                   struct compare_test *ret_test)
{
    struct ranked items[BOTH_MAX];
    size_t outside = 0, count = a.count * b.count;
    double *differences = malloc(count * sizeof(*differences));
    int rc = differences ? groups_outside(a.count, b.count, level, &outside) : -ENOMEM;
    if (rc == 0) {
        for (size_t i = 0; i < a.count; i++)
            for (size_t j = 0; j < b.count; j++)
                differences[i * b.count + j] = b.values[j] - a.values[i];
        set_interval(differences, count, outside, ret_test);
        for (size_t i = 0; i < a.count + b.count; i++)
            items[i] =
                (struct ranked){i < a.count ? a.values[i] : b.values[i - a.count], (uint32_t)i};
        rc = groups_p(items, a.count, b.count, &ret_test->p);
    }
    free(differences);
    return rc;
}

/* ---- One group ------------------------------------------------------------------------------- */

/* Returns the probability of at most `heads` heads from `count` coins. */
static double coins_below(size_t count, size_t heads)
{
    double sum = 0;
    for (size_t i = 0; i <= heads; i++)
        sum += exp(lgamma((double)count + 1) - lgamma((double)i + 1) -
                   lgamma((double)(count - i) + 1) - (double)count * log(2));
    return sum;
}

struct compare_middle compare_middle(double *values, size_t count, double level)
{
    size_t outside = 0;
    qsort(values, count, sizeof(*values), by_value);
    while (outside < count / 2 && coins_below(count, outside) <= (1 - level) / 2)
        outside++;
    return (struct compare_middle){
        .median = middle_of(values, count),
        .low = outside > 0 ? values[outside - 1] : -INFINITY,
        .high = outside > 0 ? values[count - outside] : INFINITY,
    };
}

size_t compare_outliers(const double *values, size_t count, uint8_t *ret_out)
{
    double sorted[COMPARE_VALUES_MAX], distances[COMPARE_VALUES_MAX];
    size_t found = 0;
    memset(ret_out, 0, count);
    if (count < 4)
        return 0;
    memcpy(sorted, values, count * sizeof(*values));
    qsort(sorted, count, sizeof(*sorted), by_value);
    double median = middle_of(sorted, count);
    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(values[i] - median);
    qsort(distances, count, sizeof(*distances), by_value);
    double deviation = 1.4826 * middle_of(distances, count);
    for (size_t i = 0; i < count && deviation > 0; i++) {
        ret_out[i] = fabs(values[i] - median) > 3.5 * deviation;
        found += ret_out[i];
    }
    return found;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* The continued fraction of the incomplete beta function (Lentz's algorithm). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int i = 1; i <= 10000; i++) {
        double m = i;
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int k = 0; k < 2; k++) {
            double term = k ? odd : even;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(c * d - 1) < 1e-14)
            break;
    }
    return value;
}

/* The regularized incomplete beta function. */
static double beta_part(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Returns the probability of at least `hits` of `count`, each with probability `rate`. */
static double binomial_at_least(double hits, double count, double rate)
{
    return hits <= 0 ? 1 : beta_part(hits, count - hits + 1, rate);
}

/* Returns the rate at which at least `hits` of `count` have probability `often`. */
static double rate_of(double hits, double count, double often)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double rate = (low + high) / 2;
        if (binomial_at_least(hits, count, rate) < often)
            low = rate;
        else
            high = rate;
    }
    return (low + high) / 2;
}

struct compare_test compare_counts(uint64_t a, uint64_t b, double exposure, double level)
{
    double count = (double)a + (double)b, hits = (double)b, rate = exposure / (1 + exposure);
    struct compare_test test = {.shift = NAN, .low = -1, .high = INFINITY, .p = 1};
    if (count <= 0)
        return test;
    double above = binomial_at_least(hits, count, rate);
    double below = 1 - binomial_at_least(hits + 1, count, rate);
    double less = above < below ? above : below;
    test.p = 2 * less < 1 ? 2 * less : 1;
    if (a > 0)
        test.shift = hits / (double)a / exposure - 1;
    else
        test.shift = INFINITY;
    double low = b > 0 ? rate_of(hits, count, (1 - level) / 2) : 0;
    double high = a > 0 ? rate_of(hits + 1, count, 1 - (1 - level) / 2) : 1;
    test.low = low / (1 - low) / exposure - 1;
    test.high = a > 0 ? high / (1 - high) / exposure - 1 : INFINITY;
    return test;
}

/* Returns the probability that Student's t is at least so far from 0, on either side. */
static double student_p(double t, double freedom)
{
    return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}

struct compare_mean compare_mean(struct compare_group group, double level)
{
    struct compare_mean mean = {.half = INFINITY};
    double squares = 0, low = 0, high = 1e6, count = (double)group.count;
    for (size_t i = 0; i < group.count; i++)
        mean.mean += group.values[i] / count;
    for (size_t i = 0; i < group.count; i++)
        squares += (group.values[i] - mean.mean) * (group.values[i] - mean.mean);
    if (group.count < 2)
        return mean;
    for (int i = 0; i < 100; i++) {
        double t = (low + high) / 2;
        if (student_p(t, count - 1) > 1 - level)
            low = t;
        else
            high = t;
    }
    mean.half = high * sqrt(squares / (count - 1) / count);
    return mean;
}

/* ---- Many rows ------------------------------------------------------------------------------- */

int compare_adjust(double *p, size_t count)
{
    struct ranked *items = malloc((count + 1) * sizeof(*items));
    double most = 0;
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct ranked){p[i], (uint32_t)i};
    qsort(items, count, sizeof(*items), by_ranked);
    for (size_t i = 0; i < count; i++) {
        double adjusted = items[i].value * (double)(count - i);
        most = adjusted > most ? adjusted : most;
        p[items[i].at] = most < 1 ? most : 1;
    }
    free(items);
    return 0;
}

double compare_p_min(size_t a_count, size_t b_count)
{
    double n = (double)a_count, m = (double)b_count;
    double p = 2 * exp(lgamma(n + 1) + lgamma(m + 1) - lgamma(n + m + 1));
    return p < 1 ? p : 1;
}
