/* SPDX-License-Identifier: MIT */
/* The parts of libannot-heap: distances and weights of samples, the table of live blocks. */
#include "heap_draw.h"
#include "heap_live.h"
#include "heap_shadow.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

TEST(weights_follow_the_formula)
{
    static const uint64_t rates[] = {1, 4096, 65536, 524288, UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
        for (uint64_t size = 1; size < UINT64_C(1) << 40; size = size * 3 + 1) {
            double truth = (double)size / -expm1(-(double)size / (double)rates[i]);
            double found = (double)heap_weight(size, rates[i]);
            CHECK(fabs(found - truth) <= 0.5 + 1e-7 * truth);
        }
    CHECK_INT(heap_weight(0, 4096), 0);
}

TEST(distances_are_exponential)
{
    enum { DRAWS = 200000, RATE = 65536 };
    struct heap_random random;
    double sum = 0;
    int above = 0;
    heap_random_seed(&random);
    for (int i = 0; i < DRAWS; i++) {
        int64_t bytes = heap_draw(&random, RATE);
        CHECK(bytes >= 1);
        sum += (double)bytes;
        above += bytes > RATE;
    }
    CHECK(fabs(sum / DRAWS / RATE - 1) < 5 / sqrt(DRAWS));
    CHECK(fabs((double)above / DRAWS - exp(-1)) < 0.005);
}

TEST(seeds_of_threads_differ)
{
    struct heap_random first, second;
    heap_random_seed(&first);
    heap_random_seed(&second);
    CHECK(first.state != 0 && second.state != 0 && first.state != second.state);
}

TEST(a_block_is_found_until_it_is_removed)
{
    const char *block = (const char *)0x7f0012345670;
    CHECK(heap_live_add(block, 7));
    CHECK(heap_may_be_live(block));
    CHECK_INT(heap_live_remove(block + 16), 0);
    CHECK_INT(heap_live_remove(block), 7);
    CHECK_INT(heap_live_remove(block), 0);
    CHECK(!heap_may_be_live(block));
}

TEST(a_full_table_refuses_and_loses_none)
{
    uint64_t added = 0, found = 0;
    for (uintptr_t i = 1; i <= 4 * HEAP_LIVE_MAX; i++)
        added += heap_live_add((const void *)(i * 48), i);
    CHECK(added >= HEAP_LIVE_MAX);
    for (uintptr_t i = 1; i <= 4 * HEAP_LIVE_MAX; i++)
        found += heap_live_remove((const void *)(i * 48)) == i;
    CHECK_INT(found, added);
}

enum { STORM_THREADS = 4, STORM_ROUNDS = 200, STORM_BLOCKS = 500 };

/* Each thread has addresses of its own, in the same buckets as others'. */
static void *storm(void *context)
{
    uintptr_t base = (uintptr_t)context;
    size_t wrong = 0;
    for (int round = 0; round < STORM_ROUNDS; round++) {
        for (uintptr_t i = 0; i < STORM_BLOCKS; i++)
            wrong += !heap_live_add((const void *)(base + i * 64), base + i);
        for (uintptr_t i = 0; i < STORM_BLOCKS; i++)
            wrong += heap_live_remove((const void *)(base + i * 64)) != base + i;
    }
    return (void *)wrong;
}

TEST(threads_keep_their_blocks)
{
    pthread_t threads[STORM_THREADS];
    void *wrong;
    for (uintptr_t i = 0; i < STORM_THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, storm, (void *)((i + 1) << 32)) == 0);
    for (int i = 0; i < STORM_THREADS; i++) {
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
}

/* ---- Every block ----------------------------------------------------------------------------- */

static void put(char *block, uint32_t place, uint64_t size)
{
    const struct heap_block entry = {.place = place, .size = size};
    CHECK(heap_shadow_put(block, &entry));
}

static void check_taken(const char *block, uint32_t place, uint64_t size)
{
    struct heap_block entry = heap_shadow_take(block);
    CHECK_INT(entry.place, place);
    CHECK_INT(entry.size, size);
    CHECK(!heap_shadow_has(block));
}

TEST(the_shadow_keeps_every_place_and_size)
{
    static const uint64_t sizes[] = {0, 1, 4094, 4095, 4096, UINT32_MAX, UINT64_C(1) << 40};
    char *const base = (char *)UINT64_C(0x7f1234000000);
    CHECK(heap_shadow_begin());
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        put(base + i * 4096, (uint32_t)i + 1, sizes[i]);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        check_taken(base + i * 4096, (uint32_t)i + 1, sizes[i]);
    put(base, (1u << 19) - 1, 100);
    check_taken(base, (1u << 19) - 1, 100);
    check_taken(base, 0, 0);
    check_taken(NULL, 0, 0);
}

TEST(the_words_of_a_large_size_are_free_again)
{
    char *const base = (char *)UINT64_C(0x7f0000000000);
    CHECK(heap_shadow_begin());
    put(base, 7, UINT64_C(0x1234567890));
    check_taken(base, 7, UINT64_C(0x1234567890));
    for (int i = 0; i < 4; i++)
        CHECK(!heap_shadow_has(base + 16 * i));
    /* A block that begins in one region's last bytes continues in the next one. */
    put(base + (1 << 26) - 16, 8, 1 << 20);
    check_taken(base + (1 << 26) - 16, 8, 1 << 20);
}

TEST(neighbours_of_sixteen_bytes_and_code_are_kept_apart)
{
    char *const base = (char *)UINT64_C(0x550000000000);
    CHECK(heap_shadow_begin());
    for (uint32_t i = 0; i < 1000; i++)
        put(base + (size_t)i * 16, i + 1, i);
    heap_shadow_mark_code(base + 160);
    heap_shadow_mark_code(base - 16);
    for (uint32_t i = 0; i < 1000; i++) {
        struct heap_block entry = heap_shadow_take(base + (size_t)i * 16);
        CHECK_INT(entry.place, i + 1);
        CHECK_INT(entry.size, i);
        CHECK_INT(entry.is_code, i == 10);
    }
    CHECK(!heap_shadow_has(base - 16));
}
