/* SPDX-License-Identifier: MIT */
/* Sums in bounded memory: details are dropped, totals are kept. */
#include "page_data.h"
#include "page_samples.h"
#include "test.h"

#include <stdlib.h>

enum { NODES = 5000, THREADS = 9, LIMIT = 4000 };

static uint32_t parents[NODES];

/* A binary tree below the root. */
static struct page_sums make_sums(size_t limit)
{
    for (uint32_t i = 0; i < NODES; i++)
        parents[i] = i == 0 ? 0 : (i - 1) / 2;
    return (struct page_sums){.parents = parents, .node_count = NODES, .limit = limit};
}

static struct page_sum whole_of(const struct page_sums *sums)
{
    struct page_sum all = {0};
    for (size_t i = 0; i < sums->items.count; i++) {
        all.count += sums->items.items[i].count;
        all.time_ns += sums->items.items[i].time_ns;
        if (sums->items.items[i].max_ns > all.max_ns)
            all.max_ns = sums->items.items[i].max_ns;
    }
    return all;
}

static void add(struct page_sums *sums, uint32_t at)
{
    const struct page_sum sum = {.slot = at % PAGE_SLOTS,
                                 .thread = at % THREADS,
                                 .node = (at * 7919) % NODES,
                                 .path = at % 3,
                                 .cause = at % 2 ? PAGE_CPU : WAIT_LOCK,
                                 .count = 1,
                                 .time_ns = at,
                                 .max_ns = at};
    CHECK_INT(page_sums_add(sums, &sum), 0);
}

TEST(equal_keys_are_one_sum)
{
    struct page_sums sums = make_sums(LIMIT);
    add(&sums, 5);
    add(&sums, 5);
    CHECK_INT(sums.items.count, 1);
    CHECK_INT(sums.items.items[0].count, 2);
    CHECK_INT(sums.items.items[0].time_ns, 10);
    CHECK_INT(sums.items.items[0].max_ns, 5);
    page_sums_fini(&sums);
}

TEST(too_many_keys_are_joined_and_every_nanosecond_stays)
{
    struct page_sums sums = make_sums(LIMIT);
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        add(&sums, i);
        time_ns += i;
        CHECK(sums.items.count <= LIMIT);
    }
    struct page_sum all = whole_of(&sums);
    CHECK_INT(all.count, 200000);
    CHECK_INT(all.time_ns, time_ns);
    CHECK_INT(all.max_ns, 199999);
    CHECK(sums.slot_shift > 0 && sums.node_steps > 0);
    CHECK_INT(page_sums_limit(&sums, 2), 0);
    CHECK(sums.items.count <= 2); /* CPU time and a wait */
    CHECK_INT(whole_of(&sums).time_ns, time_ns);
    page_sums_fini(&sums);
}

TEST(the_smallest_nodes_count_for_their_parents)
{
    struct page_sums sums = make_sums(LIMIT);
    for (uint32_t i = 1; i < 8; i++) {
        const struct page_sum sum = {.node = i, .count = 1, .time_ns = i < 5 ? 1000 : 1};
        CHECK_INT(page_sums_add(&sums, &sum), 0);
    }
    CHECK_INT(page_sums_limit_nodes(&sums, 5), 0);
    for (size_t i = 0; i < sums.items.count; i++) {
        const struct page_sum *sum = &sums.items.items[i];
        CHECK(sum->node < 5);
        CHECK_INT(sum->time_ns, sum->node == 2 ? 1002 : sum->node == 3 ? 1001 : 1000);
    }
    CHECK_INT(whole_of(&sums).count, 7);
    page_sums_fini(&sums);
}

/* Four nodes form one path. */
TEST(lines_are_given_up_before_functions)
{
    static uint32_t path_of_node[NODES], node_of_path[NODES / 4 + 1];
    struct page_sums sums = make_sums(1500);
    for (uint32_t i = 0; i < NODES; i++) {
        path_of_node[i] = i / 4;
        node_of_path[i / 4] = i; /* the last one */
    }
    sums.path_of_node = path_of_node;
    sums.node_of_path = node_of_path;
    for (uint32_t i = 1000; i < 3000; i++) {
        const struct page_sum sum = {.node = i, .count = 1, .time_ns = 5};
        CHECK_INT(page_sums_add(&sums, &sum), 0);
    }
    CHECK(sums.no_lines);
    CHECK_INT(sums.node_steps, 0);
    CHECK_INT(sums.items.count, 500);
    for (size_t i = 0; i < sums.items.count; i++)
        CHECK(sums.items.items[i].node % 4 == 3 && sums.items.items[i].time_ns == 20);
    page_sums_fini(&sums);
}

TEST(keys_stay_few_if_only_threads_differ)
{
    struct page_sums sums = make_sums(100);
    for (uint32_t i = 0; i < 10000; i++) {
        const struct page_sum sum = {.thread = i, .count = 1, .time_ns = 3};
        CHECK_INT(page_sums_add(&sums, &sum), 0);
        CHECK(sums.items.count <= 100);
    }
    CHECK(sums.no_threads);
    CHECK_INT(whole_of(&sums).time_ns, 30000);
    page_sums_fini(&sums);
}

TEST(slots_divide_all_of_the_time)
{
    const struct page_span span = {1000, 1000003};
    CHECK_INT(page_slot(&span, 128, -5), 0);
    CHECK_INT(page_slot(&span, 128, 1000), 0);
    CHECK_INT(page_slot(&span, 128, INT64_MAX), 127);
    for (uint32_t slot = 0; slot < 128; slot++) {
        int64_t begin_ns = page_slot_begin(&span, 128, slot);
        CHECK_INT(page_slot(&span, 128, begin_ns), slot);
        CHECK_INT(page_slot(&span, 128, page_slot_begin(&span, 128, slot + 1) - 1), slot);
    }
}
