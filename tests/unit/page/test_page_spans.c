/* SPDX-License-Identifier: MIT */
/* Ranges that are drawn, their rows, and the treatment of others. */
#include "page_data.h"
#include "page_ranges.h"
#include "page_spans.h"
#include "test.h"
#include "trace_maker.h"

static struct maker *maker;
static struct page_names names;
static struct page_spans spans;
static uint32_t thread;

enum { SPAN_NS = 1 << 30 };

static void begin(void)
{
    maker = maker_create();
    thread = maker_thread(maker, maker_process(maker, 100, 1, "python a.py", 0), 100, "main");
    const struct page_span span = {0, SPAN_NS};
    names = (struct page_names){.trace = maker_trace(maker)};
    CHECK_INT(page_spans_init(&spans, maker_trace(maker), &span, &names), 0);
}

static void end(void)
{
    page_spans_fini(&spans);
    page_names_fini(&names);
    maker_destroy(maker);
}

static void add(enum lane_kind lane, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const struct event event = {
        .time_ns = begin_ns, .thread = thread, .lane = track, .name = maker_string(maker, "x")};
    const struct item item = {.kind = ITEM_SPAN,
                              .lane = (uint8_t)lane,
                              .event = &event,
                              .begin_ns = begin_ns,
                              .end_ns = end_ns};
    CHECK_INT(page_spans_take(&spans, &item), 0);
}

TEST(the_longest_are_drawn_and_the_others_cover_their_lane)
{
    begin();
    for (int64_t i = 0; i < 300000; i++)
        add(LANE_THREAD, 0, i * 3000, i * 3000 + (i % 1000 == 0 ? 2500 : 500 + i % 700));
    CHECK_INT(page_lanes_finish(&spans), 0);
    CHECK(spans.drawn.items.count <= PAGE_SPANS_MAX && spans.drawn.items.count > 300);
    CHECK_INT(spans.short_count + spans.drawn.items.count, 300000);
    CHECK_INT(spans.lanes.items[0].short_count, spans.short_count);
    uint64_t longest = 0;
    for (size_t i = 0; i < spans.drawn.items.count; i++) {
        CHECK(spans.drawn.items.items[i].length_ns >= spans.drawn.least_ns);
        longest += spans.drawn.items.items[i].length_ns == 2500;
    }
    CHECK_INT(longest, 300);
    double covered = 0;
    for (unsigned i = 0; i < PAGE_DENSITY_SLOTS; i++)
        covered += (double)spans.lanes.items[0].density[i];
    CHECK(covered > 100 && covered < 500);
    end();
}

TEST(ranges_of_equal_length_are_thinned_and_not_all_dropped)
{
    begin();
    for (int64_t i = 0; i < 200000; i++)
        add(LANE_THREAD, 0, i * 3000, i * 3000 + 1000);
    CHECK_INT(page_lanes_finish(&spans), 0);
    CHECK_INT(spans.drawn.items.count, PAGE_SPANS_MAX);
    end();
}

TEST(ranges_that_overlap_lie_in_rows_of_their_own)
{
    begin();
    add(LANE_PROCESS, 0, 0, 1000);
    add(LANE_PROCESS, 0, 500, 1500);
    add(LANE_PROCESS, 0, 1000, 2000);
    CHECK_INT(page_lanes_finish(&spans), 0);
    CHECK_INT(spans.lanes.count, 1);
    const uint32_t rows[] = {0, 1, 0};
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(spans.drawn.items.items[i].depth, rows[i]);
    end();
}

TEST(tracks_whose_names_differ_by_a_number_are_one_lane)
{
    begin();
    for (unsigned i = 0; i < 40; i++) {
        char name[32] = "request 10";
        name[9] = (char)('0' + i % 10);
        name[8] = (char)('1' + i / 10);
        uint32_t track = maker_track(maker, 0, 1000 + i, name, -1);
        add(LANE_TRACK, track, i * 100, i * 100 + 250);
    }
    CHECK_INT(page_lanes_finish(&spans), 0);
    CHECK_INT(spans.lanes.count, 1);
    CHECK_STR(spans.lanes.items[0].name, "request");
    CHECK_INT(spans.requests.items.count, 40);
    for (size_t i = 0; i < spans.drawn.items.count; i++)
        CHECK(spans.drawn.items.items[i].depth < 3);
    end();
}
