/* SPDX-License-Identifier: MIT */
/* The external sort returns all records in order of their keys, equal ones in order of arrival,
 * with any memory limit. */
#include "sorter.h"
#include "test.h"

#include <stdlib.h>

enum { RECORDS = 20000 };

struct record {
    int64_t first, second, third;
    uint32_t number, size;
};

static uint32_t draw(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33) % limit;
}

static int by_keys(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->third != b->third)
        return a->third < b->third ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Keys nearly in order, in random order, all equal. */
enum shape { NEARLY, RANDOM, EQUAL };

static void check_sort(size_t memory_bytes, enum shape shape, uint32_t size_max)
{
    struct record *records = calloc(RECORDS, sizeof(*records));
    uint8_t *bytes = calloc(1, size_max + sizeof(*records));
    struct sorter *sorter = sorter_create(test_directory(), memory_bytes);
    uint64_t state = 7 + shape;
    CHECK(records && bytes && sorter);
    for (uint32_t i = 0; i < RECORDS; i++) {
        struct record *record = &records[i];
        record->number = i;
        record->first = shape == NEARLY   ? (int64_t)(10 * i) - draw(&state, 500)
                        : shape == RANDOM ? (int64_t)draw(&state, 1u << 30) - (1 << 29)
                                          : (int64_t)draw(&state, 3);
        record->second = draw(&state, 3);
        record->third = (int64_t)draw(&state, 3) - 1;
        record->size = (uint32_t)sizeof(*record) + draw(&state, 10) * draw(&state, size_max / 10);
        memcpy(bytes, record, sizeof(*record));
        CHECK_INT(sorter_add(sorter,
                             (struct sorter_key){record->first, record->second, record->third},
                             bytes, record->size),
                  0);
    }
    CHECK_INT(sorter_finish(sorter), 0);
    CHECK_INT(sorter_count(sorter), RECORDS);
    qsort(records, RECORDS, sizeof(*records), by_keys);
    struct sorter_key key;
    const void *got;
    uint32_t size;
    for (uint32_t i = 0; i < RECORDS; i++) {
        CHECK_INT(sorter_next(sorter, &key, &got, &size), 1);
        CHECK_INT(size, records[i].size);
        CHECK(memcmp(got, &records[i], sizeof(*records)) == 0);
    }
    CHECK_INT(sorter_next(sorter, &key, &got, &size), 0);
    sorter_destroy(sorter);
    free(records);
    free(bytes);
}

TEST(order_in_memory)
{
    for (unsigned shape = NEARLY; shape <= EQUAL; shape++)
        check_sort(16 << 20, (enum shape)shape, 64);
}

TEST(order_by_a_few_files)
{
    for (unsigned shape = NEARLY; shape <= EQUAL; shape++)
        check_sort(400 << 10, (enum shape)shape, 100);
}

TEST(order_by_more_files_than_are_merged_at_once)
{
    for (unsigned shape = NEARLY; shape <= EQUAL; shape++)
        check_sort(8 << 10, (enum shape)shape, 100);
    check_sort(2 << 10, RANDOM, 100); /* with more merged runs than that */
}

TEST(records_larger_than_a_block)
{
    check_sort(2 << 20, RANDOM, 4000);
    struct sorter *sorter =
        sorter_create(NULL, 1 << 20); /* in the default folder of temporary files */
    uint8_t *bytes = calloc(1, 900 << 10);
    CHECK(sorter && bytes);
    for (int i = 0; i < 3; i++) {
        bytes[899 << 10] = (uint8_t)i;
        CHECK_INT(sorter_add(sorter, (struct sorter_key){-i, 0, 0}, bytes, 900 << 10), 0);
    }
    CHECK(sorter_add(sorter, (struct sorter_key){0, 0, 0}, bytes, 2 << 20) < 0);
    CHECK_INT(sorter_finish(sorter), 0);
    for (int i = 2; i >= 0; i--) {
        struct sorter_key key;
        const void *got;
        uint32_t size;
        CHECK_INT(sorter_next(sorter, &key, &got, &size), 1);
        CHECK_INT(((const uint8_t *)got)[899 << 10], i);
    }
    sorter_destroy(sorter);
    free(bytes);
}
