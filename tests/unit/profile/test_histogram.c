/* SPDX-License-Identifier: MIT */
/* Compares quantiles with sorted values, for distributions with long tails; tests the byte
 * limit. */
#include "histogram.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void check_quantiles(const uint64_t *values, size_t count)
{
    static const double fractions[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0};
    struct histogram_pool *pool = histogram_pool_create(8 << 20);
    struct histogram histogram = {0};
    uint64_t *sorted = malloc(count * sizeof(*sorted));
    CHECK(pool && sorted);
    for (size_t i = 0; i < count; i++)
        histogram_add(pool, &histogram, values[i]);
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; i < sizeof(fractions) / sizeof(*fractions); i++) {
        size_t rank = (size_t)ceil(fractions[i] * (double)count);
        double exact = (double)sorted[rank ? rank - 1 : 0];
        double got = (double)histogram_quantile(pool, &histogram, fractions[i]);
        if (fabs(got - exact) > exact / 128)
            test_fail(__FILE__, __LINE__, "%zu values, quantile %g: %.0f, exact %.0f", count,
                      fractions[i], got, exact);
    }
    CHECK_INT(histogram.count, count);
    CHECK_INT(histogram_pool_refused(pool), 0);
    free(sorted);
    histogram_pool_destroy(pool);
}

TEST(quantiles_are_within_one_part_in_128)
{
    static uint64_t values[100000];
    static const size_t counts[] = {1, 2, 15, 16, 17, 18, 100, 100000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        for (size_t j = 0; j < counts[i]; j++)
            values[j] = next_random() >> (next_random() % 64); /* every magnitude */
        check_quantiles(values, counts[i]);
        for (size_t j = 0; j < counts[i]; j++)
            values[j] = 1000 + next_random() % 1000;
        check_quantiles(values, counts[i]);
    }
}

TEST(extremes_have_buckets)
{
    struct histogram_pool *pool = histogram_pool_create(8 << 20);
    static const uint64_t values[] = {0,         1, 63, 64, 127, 128, UINT64_MAX, UINT64_MAX - 1,
                                      1ull << 63};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        struct histogram histogram = {0};
        for (int n = 0; n < 20; n++)
            histogram_add(pool, &histogram, values[i]);
        uint64_t got = histogram_quantile(pool, &histogram, 0.5);
        CHECK(fabs((double)got - (double)values[i]) <= (double)values[i] / 128);
        if (values[i] < 128)
            CHECK_INT(got, values[i]);
    }
    struct histogram empty = {0};
    CHECK_INT(histogram_quantile(pool, &empty, 0.5), 0);
    histogram_pool_destroy(pool);
}

/* Some values are in the struct, others in pages: quantiles cover both in order. */
TEST(values_beside_pages_are_in_their_order)
{
    static const uint64_t first[] = {40, 1000000};
    struct histogram_pool *pool = histogram_pool_create(8 << 20);
    for (size_t i = 0; i < 2; i++) {
        struct histogram histogram = {0};
        for (int n = 0; n < 17; n++)
            histogram_add(pool, &histogram, first[i]); /* the last one starts a page */
        for (int n = 0; n < 3; n++)
            histogram_add(pool, &histogram, first[1 - i]);
        CHECK_INT(histogram.count, 20);
        CHECK_INT(histogram_quantile(pool, &histogram, i ? 0.15 : 0.85), 40);
        CHECK(fabs((double)histogram_quantile(pool, &histogram, i ? 0.16 : 0.86) - 1000000) <
              1000000.0 / 128);
    }
    histogram_pool_destroy(pool);
}

TEST(a_full_pool_counts_what_it_refuses)
{
    struct histogram_pool *pool = histogram_pool_create(1 << 20); /* 4,095 blocks */
    struct histogram *many = calloc(5000, sizeof(*many));
    CHECK(pool && many);
    uint64_t added = 0, inside = 0;
    for (int i = 0; i < 5000; i++) {
        for (int n = 0; n < 20; n++, added++)
            histogram_add(pool, &many[i], 1000);
        inside += many[i].count;
    }
    CHECK(histogram_pool_refused(pool) > 0);
    CHECK_INT(inside + histogram_pool_refused(pool), added);
    CHECK_INT(many[0].count, 20);
    CHECK_INT(many[4999].count, 16);
    CHECK(histogram_quantile(pool, &many[4999], 0.5) > 990);
    free(many);
    histogram_pool_destroy(pool);
}

TEST(joined_histograms_are_those_of_all_values)
{
    static const size_t counts[] = {0, 1, 10, 16, 17, 40, 5000};

    enum { COUNTS = sizeof(counts) / sizeof(*counts) };

    for (size_t i = 0; i < COUNTS * COUNTS; i++) {
        struct histogram_pool *pool = histogram_pool_create(8 << 20);
        struct histogram one = {0}, other = {0}, both = {0};
        for (size_t j = 0; j < counts[i / COUNTS] + counts[i % COUNTS]; j++) {
            uint64_t value = next_random() >> (next_random() % 64);
            histogram_add(pool, j < counts[i / COUNTS] ? &one : &other, value);
            histogram_add(pool, &both, value);
        }
        histogram_join(pool, &one, &other);
        CHECK_INT(one.count, both.count);
        for (double fraction = 0.05; fraction <= 1; fraction += 0.05)
            CHECK_INT(histogram_quantile(pool, &one, fraction),
                      histogram_quantile(pool, &both, fraction));
        histogram_pool_destroy(pool);
    }
}
