/* SPDX-License-Identifier: MIT */
/* Reduction of the recording when its cost exceeds the budget, and attempts to restore it. */
#include "gpu_governor.h"
#include "gpu_launches.h"
#include "test.h"

#include <string.h>

enum { SECOND = 1000000000 };

/* Replaces gpu_launches.c. */
uint64_t gpu_launches_counted(void)
{
    return 0;
}

static struct gpu_governor governor;
static int64_t now_ns;
static uint64_t cost;

static void begin(double budget, enum gpu_level highest)
{
    now_ns = 5 * (int64_t)SECOND;
    cost = 0;
    gpu_governor_begin(&governor, budget, highest);
    CHECK(!gpu_governor_look(&governor, now_ns, cost));
}

/* Runs one look per second at a cost of `percent` each; returns the number of level changes. */
static int pass(int seconds, double percent)
{
    int changes = 0;
    for (int i = 0; i < seconds; i++) {
        now_ns += SECOND;
        cost += (uint64_t)(percent / 100 * SECOND);
        changes += gpu_governor_look(&governor, now_ns, cost);
    }
    return changes;
}

TEST(a_moment_over_the_budget_changes_nothing)
{
    begin(1, GPU_LEVEL_NODES);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(pass(2, 5), 0);
        CHECK_INT(pass(1, 0.9), 0);
    }
    CHECK_INT(governor.level, GPU_LEVEL_NODES);
}

TEST(a_sum_that_falls_is_no_cost)
{
    begin(1, GPU_LEVEL_NODES);
    CHECK_INT(pass(1, 90), 0);
    cost -= SECOND / 2;
    CHECK_INT(pass(1, 0), 0);
    CHECK(governor.share == 0);
    CHECK_INT(pass(2, 5), 0);
    CHECK_INT(governor.level, GPU_LEVEL_NODES);
}

TEST(it_drops_by_one_level_after_the_other)
{
    begin(1, GPU_LEVEL_NODES);
    CHECK_INT(pass(3, 5), 1);
    CHECK_INT(governor.level, GPU_LEVEL_GRAPHS);
    char text[200];
    gpu_governor_say(&governor, text, sizeof(text));
    CHECK(strstr(text, "5 %") && strstr(text, "budget of 1 %") && strstr(text, "as a whole"));
    CHECK_INT(pass(3, 5), 1);
    CHECK_INT(governor.level, GPU_LEVEL_OFF);
    CHECK_INT(pass(20, 0), 0);
}

TEST(it_tries_again_and_less_often_if_that_fails)
{
    begin(1, GPU_LEVEL_GRAPHS);
    CHECK_INT(pass(3, 5), 1);
    CHECK_INT(pass(30, 0), 1); /* after half a minute */
    CHECK_INT(governor.level, GPU_LEVEL_GRAPHS);
    CHECK_INT(pass(3, 5), 1);
    CHECK_INT(pass(59, 0), 0);
    CHECK_INT(pass(1, 0), 1); /* after a minute */
    CHECK_INT(pass(60, 0.5), 0);
    CHECK_INT(pass(3, 5), 1); /* after a long good time: as at first */
    CHECK_INT(pass(29, 0), 0);
    CHECK_INT(pass(1, 0), 1);
}

TEST(it_rises_only_where_half_of_the_budget_is_left)
{
    begin(1, GPU_LEVEL_NODES);
    CHECK_INT(pass(3, 5), 1);
    CHECK_INT(pass(100, 0.6), 0);
    CHECK_INT(governor.level, GPU_LEVEL_GRAPHS);
    CHECK_INT(pass(2, 0.4), 1);
    CHECK_INT(governor.level, GPU_LEVEL_NODES);
}

TEST(without_a_budget_nothing_is_left_out)
{
    begin(0, GPU_LEVEL_NODES);
    CHECK_INT(pass(100, 90), 0);
    CHECK(governor.share > 89 && governor.share < 91);
}
