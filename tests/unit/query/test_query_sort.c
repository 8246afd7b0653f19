/* SPDX-License-Identifier: MIT */
/* Rows are returned by group, in comparison order of the groups, and within a group in order of
 * addition; in memory, and through runs in a temporary file. */
#include "query_sort.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { ROW_COUNT = 200000, SMALL_ROOM = 1 << 20, LARGE_ROOM = 16 << 20 };

struct row {
    uint32_t serial, group;
};

/* In reverse, with two groups per place. */
static int compare(void *context, const struct wide_key *a, const struct wide_key *b)
{
    uint64_t x = a->words[0] / 2, y = b->words[0] / 2;
    (*(unsigned *)context)++;
    return (x < y) - (x > y);
}

static struct query_sort *sort_of(size_t room_size, unsigned *calls)
{
    const struct query_sort_options options = {
        .row_size = sizeof(struct row),
        .room_size = room_size,
        .compare = compare,
        .context = calls,
    };
    struct query_sort *sort = query_sort_create(&options);
    CHECK(sort != NULL);
    return sort;
}

static int add(struct query_sort *sort, uint32_t serial, uint32_t group)
{
    const struct row row = {serial, group};
    return query_sort_add(sort, WIDE_KEY(group, 7), &row);
}

/* Checks each row; returns their number. */
static uint32_t check_all(struct query_sort *sort)
{
    const struct wide_key *group;
    const void *bytes;
    struct row row, last = {0};
    uint32_t count = 0;
    int status;
    while ((status = query_sort_next(sort, &group, &bytes)) == 1) {
        memcpy(&row, bytes, sizeof(row));
        if (group->words[0] != row.group || group->words[1] != 7)
            CHECK_INT(group->words[0], row.group);
        if (count && row.group == last.group)
            CHECK(row.serial > last.serial);
        else if (count)
            CHECK(row.group / 2 <= last.group / 2);
        last = row;
        count++;
    }
    CHECK_INT(status, 0);
    return count;
}

static void sort_random(size_t room_size, uint32_t groups)
{
    unsigned calls = 0;
    uint64_t state = 1;
    struct query_sort *sort = sort_of(room_size, &calls);
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        /* later rows have new groups */
        uint32_t group =
            (uint32_t)(state >> 33) % (1 + (uint32_t)((uint64_t)groups * i / ROW_COUNT));
        CHECK_INT(add(sort, i, group), 0);
    }
    CHECK_INT(query_sort_finish(sort), 0);
    CHECK_INT(check_all(sort), ROW_COUNT);
    CHECK(!query_sort_file_failed(sort));
    CHECK(groups > 100 || calls < ROW_COUNT / 10); /* by group, not by row */
    query_sort_destroy(sort);
}

TEST(rows_in_memory)
{
    sort_random(LARGE_ROOM, 1);
    sort_random(LARGE_ROOM, 12);
    sort_random(LARGE_ROOM, 50000);
}

TEST(rows_in_runs)
{
    sort_random(SMALL_ROOM, 1);
    sort_random(SMALL_ROOM, 12);
    sort_random(SMALL_ROOM, 50000);
}

TEST(no_rows)
{
    unsigned calls = 0;
    struct query_sort *sort = sort_of(SMALL_ROOM, &calls);
    CHECK_INT(query_sort_finish(sort), 0);
    CHECK_INT(check_all(sort), 0);
    query_sort_destroy(sort);
}

TEST(a_file_that_may_not_grow_is_an_error)
{
    unsigned calls = 0;
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    struct query_sort *sort = sort_of(SMALL_ROOM, &calls);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int error = 0;
    for (uint32_t i = 0; i < ROW_COUNT && !error; i++)
        error = add(sort, i, i);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_INT(error, -EFBIG);
    CHECK(query_sort_file_failed(sort));
    query_sort_destroy(sort);
}
