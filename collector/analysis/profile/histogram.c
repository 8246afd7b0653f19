/* SPDX-License-Identifier: MIT */
/* The log-linear histogram of histogram.h.
 *
 * A value's page is its power of two, its slot the next six bits. Both a page (64 counters) and a
 * histogram's table (64 page numbers) are one block of 64 words. Block 0 is the null block.
 *
 * With many histograms, tables and pages are not in the processor's caches. So values are collected
 * in the struct and written to their pages together, which overlaps the cache misses. */
#include "histogram.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    BLOCK_WORDS = 64,
    BLOCK_BYTES = BLOCK_WORDS * sizeof(uint32_t),
    CHUNK_BLOCKS = 4096,
    CHUNK_BYTES = CHUNK_BLOCKS * BLOCK_BYTES,
    CHUNK_MAX = 1024,
};

struct histogram_pool {
    uint32_t *chunks[CHUNK_MAX];
    uint32_t chunk_limit;
    uint32_t used; /* blocks, counted from 1 */
    uint64_t refused;
};

struct histogram_pool *histogram_pool_create(size_t limit_bytes)
{
    struct histogram_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    size_t chunks = limit_bytes / CHUNK_BYTES;
    pool->chunk_limit = (uint32_t)(chunks < CHUNK_MAX ? chunks : CHUNK_MAX);
    pool->used = 1;
    return pool;
}

void histogram_pool_destroy(struct histogram_pool *pool)
{
    if (!pool)
        return;
    for (uint32_t i = 0; i < CHUNK_MAX; i++)
        free(pool->chunks[i]);
    free(pool);
}

uint64_t histogram_pool_refused(const struct histogram_pool *pool)
{
    return pool->refused;
}

static uint32_t *block_at(const struct histogram_pool *pool, uint32_t block)
{
    return pool->chunks[block / CHUNK_BLOCKS] + (size_t)(block % CHUNK_BLOCKS) * BLOCK_WORDS;
}

/* A zeroed block, or 0. */
static uint32_t block_take(struct histogram_pool *pool)
{
    uint32_t chunk = pool->used / CHUNK_BLOCKS;
    if (chunk >= pool->chunk_limit)
        return 0;
    if (!pool->chunks[chunk])
        pool->chunks[chunk] = calloc(1, CHUNK_BYTES);
    return pool->chunks[chunk] ? pool->used++ : 0;
}

static uint16_t bucket_of(uint64_t value)
{
    if (value < BLOCK_WORDS)
        return (uint16_t)value;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned page = exponent - 5, slot = (unsigned)(value >> (exponent - 6)) & 63u;
    return (uint16_t)(page * BLOCK_WORDS + slot);
}

/* The middle of the bucket. */
static uint64_t value_of(unsigned bucket)
{
    if (bucket < BLOCK_WORDS)
        return bucket;
    unsigned page = bucket / BLOCK_WORDS, slot = bucket % BLOCK_WORDS;
    uint64_t width = 1ull << (page - 1);
    return (BLOCK_WORDS + slot) * width + width / 2;
}

/* Returns true if a page was available. */
static bool count_in_page(struct histogram_pool *pool, const struct histogram *histogram,
                          unsigned bucket, uint32_t times)
{
    uint32_t *table = block_at(pool, histogram->table);
    unsigned page = bucket / BLOCK_WORDS;
    if (!table[page])
        table[page] = block_take(pool);
    uint32_t *counter = table[page] ? block_at(pool, table[page]) + bucket % BLOCK_WORDS : NULL;
    if (!counter || *counter > UINT32_MAX - times) {
        pool->refused += times;
        return false;
    }
    *counter += times;
    return true;
}

/* Moves the inline values to their pages. Returns false if the pool has no block for the table. */
static bool spill(struct histogram_pool *pool, struct histogram *histogram)
{
    if (!histogram->table)
        histogram->table = block_take(pool);
    if (!histogram->table)
        return false;
    for (unsigned i = 0; i < histogram->inline_count; i++)
        histogram->count -= !count_in_page(pool, histogram, histogram->inline_buckets[i], 1);
    histogram->inline_count = 0;
    return true;
}

static void count(struct histogram_pool *pool, struct histogram *histogram, unsigned bucket,
                  uint32_t times)
{
    for (; times > 0 && histogram->inline_count < HISTOGRAM_INLINE; times--, histogram->count++)
        histogram->inline_buckets[histogram->inline_count++] = (uint16_t)bucket;
    if (times == 0)
        return;
    if (!spill(pool, histogram))
        pool->refused += times;
    else if (count_in_page(pool, histogram, bucket, times))
        histogram->count += times;
}

void histogram_add(struct histogram_pool *pool, struct histogram *histogram, uint64_t value)
{
    count(pool, histogram, bucket_of(value), 1);
}

void histogram_join(struct histogram_pool *pool, struct histogram *histogram,
                    const struct histogram *other)
{
    for (unsigned i = 0; i < other->inline_count; i++)
        count(pool, histogram, other->inline_buckets[i], 1);
    for (unsigned bucket = 0; other->table && bucket < BLOCK_WORDS * BLOCK_WORDS;) {
        uint32_t page = block_at(pool, other->table)[bucket / BLOCK_WORDS];
        uint32_t times = page ? block_at(pool, page)[bucket % BLOCK_WORDS] : 0;
        if (times > 0)
            count(pool, histogram, bucket, times);
        bucket += page ? 1 : BLOCK_WORDS;
    }
}

/* Sorts the inline values. */
static void sort_inline(const struct histogram *histogram, uint16_t sorted[HISTOGRAM_INLINE])
{
    for (unsigned i = 0; i < histogram->inline_count; i++) {
        uint16_t bucket = histogram->inline_buckets[i];
        unsigned at = i;
        for (; at > 0 && sorted[at - 1] > bucket; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = bucket;
    }
}

/* Returns the bucket of the value of that rank, over the pages and the sorted inline values. */
static unsigned bucket_at(const struct histogram_pool *pool, const struct histogram *histogram,
                          const uint16_t *sorted, uint64_t rank)
{
    const uint32_t *table = block_at(pool, histogram->table);
    uint64_t seen = 0;
    unsigned bucket = 0, next = 0, count = histogram->inline_count;
    for (;;) {
        uint32_t page = table[bucket / BLOCK_WORDS];
        seen += page ? block_at(pool, page)[bucket % BLOCK_WORDS] : 0;
        for (; next < count && sorted[next] == bucket; next++)
            seen++;
        if (seen >= rank || bucket == BLOCK_WORDS * BLOCK_WORDS - 1)
            return bucket;
        unsigned next_page = (bucket / BLOCK_WORDS + 1) * BLOCK_WORDS;
        bool near = page || (next < count && sorted[next] < next_page);
        bucket = near                                    ? bucket + 1
                 : next_page < BLOCK_WORDS * BLOCK_WORDS ? next_page
                                                         : next_page - 1;
    }
}

uint64_t histogram_quantile(const struct histogram_pool *pool, const struct histogram *histogram,
                            double fraction)
{
    uint16_t sorted[HISTOGRAM_INLINE] = {0};
    if (!histogram->count)
        return 0;
    double exact = fraction * (double)histogram->count;
    uint64_t rank = (uint64_t)exact;
    rank += (double)rank < exact;
    rank = rank < 1 ? 1 : rank > histogram->count ? histogram->count : rank;
    sort_inline(histogram, sorted);
    return value_of(histogram->table ? bucket_at(pool, histogram, sorted, rank) : sorted[rank - 1]);
}
