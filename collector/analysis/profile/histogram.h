/* SPDX-License-Identifier: MIT */
/* Quantiles of durations in little memory: a log-linear histogram.
 *
 * 64 buckets per power of two, so a quantile is off by at most 1/128 (0.8 %) of its value; below
 * 128 ns it is exact. Up to 16 values of a histogram are stored in the struct itself, the others in
 * 256-byte blocks of a shared pool with a byte limit; a value that does not fit is counted as
 * refused and left out of the quantiles. Thread-safety: one thread per pool. */
#ifndef ANNOT_HISTOGRAM_H
#define ANNOT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_INLINE = 16 };

/* Zeroed is empty. Owns nothing: its blocks are the pool's. */
struct histogram {
    uint64_t count;       /* values in the buckets, without refused ones */
    uint32_t table;       /* block of page blocks; 0 = all values are inline */
    uint8_t inline_count; /* the latest */
    uint16_t inline_buckets[HISTOGRAM_INLINE];
};

struct histogram_pool;

/* NULL: out of memory. destroy accepts NULL. */
struct histogram_pool *histogram_pool_create(size_t limit_bytes);
void histogram_pool_destroy(struct histogram_pool *pool);

/* Values that did not fit, over all histograms of the pool. */
uint64_t histogram_pool_refused(const struct histogram_pool *pool);

void histogram_add(struct histogram_pool *pool, struct histogram *histogram, uint64_t value);

/* Adds all values of another histogram of the pool. */
void histogram_join(struct histogram_pool *pool, struct histogram *histogram,
                    const struct histogram *other);

/* Returns the value of nearest rank: the smallest with at least fraction (0..1] of all values at or
 * below it. 0 if empty. */
uint64_t histogram_quantile(const struct histogram_pool *pool, const struct histogram *histogram,
                            double fraction);

#endif
