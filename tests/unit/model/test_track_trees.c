/* SPDX-License-Identifier: MIT */
/* Tracks and units of a trace: trees that stay trees for any input; labels; limits. */
#include "test.h"
#include "trace.h"

#include <errno.h>

static struct trace *trace;

static uint32_t text(const char *bytes)
{
    return (uint32_t)trace_string_add(trace, bytes, strlen(bytes));
}

static void begin(uint32_t tracks)
{
    trace = trace_create();
    CHECK(trace && trace_process_add(trace) == 0);
    for (uint32_t i = 0; i < tracks; i++)
        CHECK_INT(trace_lane_add(trace, 100 + i), i);
}

TEST(parents_may_come_later_but_never_go_round)
{
    begin(4);
    CHECK(trace_lane_set_parent(trace, 0, 1));
    CHECK(trace_lane_set_parent(trace, 1, 2));
    uint32_t revision = trace_lane_get(trace, 2)->revision;
    CHECK(!trace_lane_set_parent(trace, 2, 0));
    CHECK(!trace_lane_set_parent(trace, 2, 2));
    CHECK(!trace_lane_set_parent(trace, 3, 4)); /* missing */
    CHECK(!trace_lane_set_parent(trace, 4, 3));
    CHECK_INT(trace_lane_get(trace, 2)->revision, revision);
    CHECK(!trace_lane_set_parent(trace, 0, 3)); /* it has one */
    CHECK_INT(trace_lane_get(trace, 0)->parent, 2);
    CHECK_INT(trace_lane_get(trace, 2)->levels, 3);
    trace_destroy(trace);
}

/* In any order of joining. */
TEST(trees_of_tracks_have_at_most_32_levels)
{
    enum { COUNT = 3 * TRACE_LANE_LEVELS };

    begin(COUNT);
    for (uint32_t i = 0; i + 1 < COUNT; i += 2) /* pairs, then pairs of pairs, ... */
        CHECK(trace_lane_set_parent(trace, i, i + 1));
    for (uint32_t step = 2; step < COUNT; step *= 2)
        for (uint32_t i = 0; i + step < COUNT; i += 2 * step)
            trace_lane_set_parent(trace, i + step - 1, i + step);
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t levels = 0;
        for (uint32_t at = i + 1; at != 0; levels++)
            at = trace_lane_get(trace, at - 1)->parent;
        deepest = levels > deepest ? levels : deepest;
    }
    CHECK_INT(deepest, TRACE_LANE_LEVELS);
    trace_destroy(trace);
}

TEST(parents_from_a_file_are_checked)
{
    enum { COUNT = 50 };

    begin(COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        trace_lane(trace, i)->parent = 1 + (i + 1) % COUNT; /* one ring */
    trace_lane(trace, 7)->parent = COUNT + 1;
    trace_lane(trace, 8)->parent = UINT32_MAX;
    trace_lane(trace, 9)->process = 1; /* a missing one */
    CHECK_INT(trace_lanes_check(trace), 0);
    CHECK_INT(trace_lane_get(trace, 7)->parent, 0);
    CHECK_INT(trace_lane_get(trace, 8)->parent, 0);
    CHECK_INT(trace_lane_get(trace, 9)->process, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t levels = 0;
        for (uint32_t at = i + 1; at != 0; levels++)
            at = trace_lane_get(trace, at - 1)->parent;
        CHECK(levels <= TRACE_LANE_LEVELS);
    }
    CHECK_INT(trace_lane_get(trace, 5)->parent, 7); /* valid ones stay */
    trace_destroy(trace);
}

TEST(tracks_are_called_by_name_with_those_above_them)
{
    char buffer[64];
    begin(3);
    CHECK_INT(trace_lane_add(trace, 0), 3);
    trace_lane(trace, 0)->name = text("request 17");
    trace_lane(trace, 1)->name = text("requests");
    CHECK(trace_lane_set_parent(trace, 0, 1));
    CHECK(trace_lane_set_parent(trace, 1, 2));
    trace_lane_label(trace, 0, buffer, sizeof(buffer));
    CHECK_STR(buffer, "request 17");
    trace_lane_path(trace, 0, buffer, sizeof(buffer));
    CHECK_STR(buffer, "track 0x66/requests/request 17");
    trace_lane_path(trace, 3, buffer, sizeof(buffer));
    CHECK_STR(buffer, "track #3");
    trace_lane_path(trace, 4, buffer, sizeof(buffer));
    CHECK_STR(buffer, "unknown track");
    CHECK_INT(trace_lane_path(trace, 0, buffer, 8), 7);
    CHECK_INT(trace_lane_find(trace, 102), 2);
    CHECK_INT(trace_lane_find(trace, 0), -ENOENT);
    trace_destroy(trace);
}

TEST(number_of_tracks_is_limited)
{
    begin(0);
    for (uint64_t i = 0; i < TRACE_LANES_MAX; i++)
        CHECK_INT(trace_lane_add(trace, i + 1), i);
    CHECK_INT(trace_lane_add(trace, UINT64_MAX), -ENOSPC);
    CHECK_INT(trace_lane_find(trace, 54321), 54320);
    trace_destroy(trace);
}

TEST(unit_of_a_counter_is_that_of_its_domain_and_the_last_one)
{
    begin(0);
    uint32_t queue = text("queue"), io = text("io"), ms = text("ms"), bytes = text("bytes");
    CHECK_INT(trace_unit_set(trace, 0, queue, ms), 0);
    CHECK_INT(trace_unit_set(trace, io, queue, bytes), 0);
    CHECK_INT(trace_unit_find(trace, 0, queue), ms);
    CHECK_INT(trace_unit_find(trace, io, queue), bytes);
    uint32_t revision = trace_unit_get(trace, 0)->revision;
    CHECK_INT(trace_unit_set(trace, 0, queue, ms), 0);
    CHECK_INT(trace_unit_get(trace, 0)->revision, revision);
    CHECK_INT(trace_unit_set(trace, 0, queue, bytes), 0);
    CHECK(trace_unit_get(trace, 0)->revision != revision);
    CHECK_INT(trace_unit_find(trace, 0, queue), bytes);
    CHECK_INT(trace_unit_set(trace, 0, 0, bytes), -EINVAL);
    CHECK_INT(trace_unit_find(trace, 0, io), 0);
    for (uint32_t i = trace_unit_count(trace); i < 65536; i++)
        CHECK_INT(trace_unit_set(trace, 1000 + i, queue, ms), 0);
    CHECK_INT(trace_unit_set(trace, 999, queue, ms), -ENOSPC);
    trace_destroy(trace);
}
