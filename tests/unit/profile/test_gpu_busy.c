/* SPDX-License-Identifier: MIT */
/* Compares unions of intervals with a map of every nanosecond, in order and in any disorder. */
#include "gpu_busy.h"
#include "test.h"

#include <stdlib.h>

enum { SPAN = 20000 };

static uint64_t random_state = 7;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static uint64_t mapped(const bool *map, int64_t begin, int64_t end)
{
    uint64_t sum = 0;
    for (int64_t at = begin < 0 ? 0 : begin; at < end && at < SPAN; at++)
        sum += map[at];
    return sum;
}

static uint64_t longest_gap(const bool *map)
{
    uint64_t longest = 0;
    int64_t last = -1;
    for (int64_t at = 0; at < SPAN; at++) {
        uint64_t gap = last >= 0 && map[at] ? (uint64_t)(at - last - 1) : 0;
        longest = gap > longest ? gap : longest;
        last = map[at] ? at : last;
    }
    return longest;
}

/* Adds intervals that begin at most `behind` before the last one. */
static void fill(struct gpu_busy *busy, bool *map, unsigned count, int64_t behind)
{
    int64_t now = behind;
    for (unsigned i = 0; i < count; i++) {
        now += (int64_t)next_random(2 * (SPAN - (uint64_t)behind) / (count + 1));
        now = now < SPAN - 100 ? now : SPAN - 100;
        int64_t begin = now - (behind ? (int64_t)next_random((uint64_t)behind) : 0);
        int64_t end = begin + (int64_t)next_random(12);
        CHECK_INT(gpu_busy_add(busy, begin, end), 0);
        for (int64_t at = begin; at < end; at++)
            map[at] = true;
    }
}

static void check(const struct gpu_busy *busy, const bool *map)
{
    CHECK_INT(gpu_busy_total(busy), mapped(map, 0, SPAN));
    CHECK_INT(gpu_busy_longest_gap(busy), longest_gap(map));
    size_t near = 0;
    for (unsigned i = 0; i < 400; i++) { /* in order, then in any order */
        int64_t begin = i < 200 ? i * (SPAN / 200) : (int64_t)next_random(SPAN + 20) - 10;
        int64_t end = begin + (int64_t)next_random(500);
        CHECK_INT(gpu_busy_within(busy, begin, end, &near), mapped(map, begin, end));
    }
}

TEST(a_union_is_what_a_map_of_every_nanosecond_says)
{
    static const int64_t behinds[] = {0, 1, 20, 400, SPAN / 2};
    for (unsigned round = 0; round < 100; round++) {
        struct gpu_busy busy = {0};
        bool *map = calloc(SPAN, sizeof(*map));
        fill(&busy, map, 1 + (unsigned)next_random(1500), behinds[round % 5]);
        CHECK_INT(gpu_busy_settle(&busy), 0);
        CHECK_INT(gpu_busy_index(&busy), 0);
        check(&busy, map);
        gpu_busy_free(&busy);
        free(map);
    }
}

TEST(unions_of_unions_are_unions)
{
    for (unsigned round = 0; round < 50; round++) {
        struct gpu_busy all = {0};
        bool *map = calloc(SPAN, sizeof(*map));
        for (unsigned i = 0; i < 4; i++) {
            struct gpu_busy one = {0};
            fill(&one, map, (unsigned)next_random(400), 50);
            CHECK_INT(gpu_busy_settle(&one), 0);
            CHECK_INT(round % 2 ? gpu_busy_join(&all, &one) : gpu_busy_move(&all, &one), 0);
            gpu_busy_free(&one);
        }
        CHECK_INT(gpu_busy_index(&all), 0);
        check(&all, map);
        gpu_busy_free(&all);
        free(map);
    }
}

TEST(more_late_ones_than_are_kept_apart_are_merged)
{
    struct gpu_busy busy = {0};
    const int64_t far = 4 * (int64_t)GPU_BUSY_LATE_MAX;
    for (int64_t i = 0; i < 100; i++)
        CHECK_INT(gpu_busy_add(&busy, far * 10 + i * 10, far * 10 + i * 10 + 5), 0);
    for (int64_t i = far; i-- > 0;)
        CHECK_INT(gpu_busy_add(&busy, i * 10, i * 10 + 3), 0);
    CHECK(busy.late.count < GPU_BUSY_LATE_MAX);
    CHECK_INT(gpu_busy_settle(&busy), 0);
    CHECK_INT(gpu_busy_total(&busy), far * 3 + 500);
    CHECK_INT(busy.items.count, far + 100);
    gpu_busy_free(&busy);
}

TEST(gaps_that_were_given_up_are_not_busy_in_all)
{
    struct gpu_busy busy = {0};
    for (int64_t i = 0; i < 1000; i++)
        CHECK_INT(gpu_busy_add(&busy, i * 100, i * 100 + (i % 10 == 9 ? 50 : 90)), 0);
    CHECK_INT(gpu_busy_fill(&busy, 10), 0);
    CHECK_INT(gpu_busy_settle(&busy), 0);
    CHECK_INT(gpu_busy_index(&busy), 0);
    CHECK_INT(busy.items.count, 100);
    CHECK_INT(gpu_busy_total(&busy), 900 * 90 + 100 * 50);
    CHECK_INT(busy.filled_ns, 9000);
    CHECK_INT(gpu_busy_within(&busy, 0, 1000, &(size_t){0}), 950);
    gpu_busy_free(&busy);
}

static void add_random(struct gpu_busy *busy, bool *map)
{
    for (uint64_t left = 1 + next_random(60); left > 0; left--) {
        int64_t begin = (int64_t)next_random(SPAN - 400);
        int64_t end = begin + (int64_t)next_random(400);
        CHECK_INT(gpu_busy_add(busy, begin, end), 0);
        for (int64_t at = begin; at < end; at++)
            map[at] = true;
    }
    CHECK_INT(gpu_busy_settle(busy), 0);
}

TEST(one_without_another_is_what_maps_say)
{
    for (unsigned round = 0; round < 200; round++) {
        struct gpu_busy both[2] = {0}, rest;
        bool *maps[2];
        size_t near = 0;
        for (unsigned i = 0; i < 2; i++) {
            maps[i] = calloc(SPAN, sizeof(bool));
            add_random(&both[i], maps[i]);
        }
        CHECK_INT(gpu_busy_minus(&rest, &both[0], &both[1]), 0);
        CHECK_INT(gpu_busy_index(&rest), 0);
        for (int64_t at = 0; at < SPAN; at++)
            CHECK_INT(gpu_busy_within(&rest, at, at + 1, &near), maps[0][at] && !maps[1][at]);
        gpu_busy_free(&rest);
        for (unsigned i = 0; i < 2; i++) {
            gpu_busy_free(&both[i]);
            free(maps[i]);
        }
    }
}

TEST(nothing_is_never_busy)
{
    struct gpu_busy busy = {0};
    CHECK_INT(gpu_busy_add(&busy, 10, 10), 0);
    CHECK_INT(gpu_busy_add(&busy, 10, 5), 0);
    CHECK_INT(gpu_busy_settle(&busy), 0);
    CHECK_INT(gpu_busy_index(&busy), 0);
    CHECK_INT(gpu_busy_total(&busy), 0);
    CHECK_INT(gpu_busy_within(&busy, INT64_MIN, INT64_MAX, &(size_t){0}), 0);
    CHECK_INT(gpu_busy_longest_gap(&busy), 0);
    gpu_busy_free(&busy);
}
