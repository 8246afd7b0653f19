/* SPDX-License-Identifier: MIT */
/* Shelves: ranges on one shelf never overlap, and no shelf is opened without need. */
#include "shelf.h"
#include "test.h"

#include <stdlib.h>

enum { RANGES = 3000 };

struct range {
    int64_t start, end, shelf;
};

static int by_end(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return a->end < b->end ? -1 : a->end > b->end;
}

static void make_ranges(struct range *ranges)
{
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < RANGES; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ranges[i].start = (int64_t)(random >> 20 & 0xffff);
        ranges[i].end = ranges[i].start + (int64_t)(random >> 50 & 0x3ff);
    }
}

static void check_no_overlap(const struct range *ranges)
{
    for (int i = 0; i < RANGES; i++) {
        for (int k = 0; k < i; k++)
            CHECK(ranges[i].shelf != ranges[k].shelf || ranges[i].start >= ranges[k].end ||
                  ranges[k].start >= ranges[i].end);
    }
}

/* The lowest free shelf, found by looking at all. */
static int64_t expected_shelf(const struct range *ranges, int count, int64_t start)
{
    for (int64_t shelf = 0;; shelf++) {
        int64_t last = INT64_MIN;
        for (int i = 0; i < count; i++)
            last = ranges[i].shelf == shelf ? ranges[i].end : last;
        if (last <= start)
            return shelf;
    }
}

TEST(ranges_in_any_order_do_not_overlap)
{
    static struct range ranges[RANGES];
    struct shelves shelves = {0};
    make_ranges(ranges);
    for (int i = 0; i < RANGES; i++)
        ranges[i].shelf = shelves_take(&shelves, ranges[i].start, ranges[i].end);
    check_no_overlap(ranges);
    shelves_fini(&shelves);
}

TEST(the_lowest_free_shelf_is_taken)
{
    static struct range ranges[RANGES];
    struct shelves shelves = {0};
    make_ranges(ranges);
    qsort(ranges, RANGES, sizeof(*ranges), by_end);
    for (int i = 0; i < RANGES; i++) {
        ranges[i].shelf = shelves_take(&shelves, ranges[i].start, ranges[i].end);
        if (i % 16 == 0)
            CHECK_INT(ranges[i].shelf, expected_shelf(ranges, i, ranges[i].start));
    }
    check_no_overlap(ranges);
    shelves_fini(&shelves);
}

TEST(a_range_may_start_when_the_last_ends)
{
    struct shelves shelves = {0};
    CHECK_INT(shelves_take(&shelves, 0, 10), 0);
    CHECK_INT(shelves_take(&shelves, 10, 10), 0);
    CHECK_INT(shelves_take(&shelves, 10, 20), 0);
    CHECK_INT(shelves_take(&shelves, 19, 30), 1);
    CHECK_INT(shelves_take(&shelves, INT64_MIN, INT64_MAX), 2);
    CHECK_INT(shelves_take(&shelves, 0, 1), 3);
    CHECK_INT(shelves_take(&shelves, 0, 1), 4);
    CHECK_INT(shelves_take(&shelves, 1, 2), 3);
    shelves_fini(&shelves);
}
