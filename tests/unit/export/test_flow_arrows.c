/* SPDX-License-Identifier: MIT */
/* Arrows between points of flows: written cases, and points in any order compared with a plain
 * model. */
#include "flow_arrows.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLACES_MAX = 4096 };

struct placed {
    struct flow_point point;
    uint32_t name, leave_count;
    uint64_t arrives, leaves;
};

static struct placed places[PLACES_MAX];
static size_t place_count;

static int on_place(void *context, const struct flow_place *place)
{
    (void)context;
    CHECK(place_count < PLACES_MAX);
    places[place_count++] = (struct placed){*place->point, place->name, place->leave_count,
                                            place->arrives, place->leaves};
    return 0;
}

static void add(struct flow_arrows *arrows, enum event_kind kind, uint64_t flow, int64_t time_ns)
{
    struct event event = {.kind = (uint8_t)kind, .id = flow, .time_ns = time_ns};
    CHECK_INT(flow_arrows_add(arrows, &event), 0);
}

/* "10>20": an arrow from the point at time 10 to that at 20. In the order of targets. */
static const char *arrows_text(void)
{
    static char text[4096];
    size_t used = 0;
    text[0] = 0;
    for (size_t to = 0; to < place_count; to++) {
        for (size_t from = 0; from < place_count; from++) {
            const struct placed *source = &places[from];
            uint64_t arrow = places[to].arrives;
            if (arrow && arrow >= source->leaves && arrow < source->leaves + source->leave_count)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld>%lld",
                                         used ? " " : "", (long long)source->point.time_ns,
                                         (long long)places[to].point.time_ns);
        }
    }
    return text;
}

static void finish(struct flow_arrows *arrows, const char *expected)
{
    CHECK_INT(flow_arrows_finish(arrows), 0);
    CHECK_STR(arrows_text(), expected);
    flow_arrows_fini(arrows);
    place_count = 0;
}

TEST(an_arrow_goes_from_point_to_point_in_order_of_time)
{
    struct flow_arrows arrows = {.place = on_place};
    add(&arrows, EVENT_FLOW_END, 5, 40); /* collected first */
    add(&arrows, EVENT_FLOW_STEP, 5, 20);
    add(&arrows, EVENT_FLOW_BEGIN, 6, 15);
    add(&arrows, EVENT_FLOW_STEP, 5, 30);
    add(&arrows, EVENT_FLOW_BEGIN, 5, 10);
    add(&arrows, EVENT_FLOW_END, 6, 16);
    finish(&arrows, "10>20 20>30 30>40 15>16");
}

TEST(several_ends_are_all_reached)
{
    struct flow_arrows arrows = {.place = on_place};
    add(&arrows, EVENT_FLOW_BEGIN, 5, 10);
    add(&arrows, EVENT_FLOW_END, 5, 11);
    add(&arrows, EVENT_FLOW_END, 5, 12);
    add(&arrows, EVENT_FLOW_STEP, 5, 13);
    add(&arrows, EVENT_FLOW_END, 5, 14);
    finish(&arrows, "10>11 10>12 10>13 13>14");
}

TEST(a_number_that_is_used_again_starts_anew)
{
    struct flow_arrows arrows = {.place = on_place};
    add(&arrows, EVENT_FLOW_BEGIN, 5, 10); /* its end was lost */
    add(&arrows, EVENT_FLOW_BEGIN, 5, 20);
    add(&arrows, EVENT_FLOW_END, 5, 21);
    add(&arrows, EVENT_FLOW_BEGIN, 5, 30);
    add(&arrows, EVENT_FLOW_END, 5, 30); /* at once */
    finish(&arrows, "20>21 30>30");
}

TEST(points_without_the_other_end_have_no_arrow_and_are_there)
{
    struct flow_arrows arrows = {.place = on_place};
    add(&arrows, EVENT_FLOW_END, 5, 10);
    add(&arrows, EVENT_FLOW_END, 6, 10);
    add(&arrows, EVENT_FLOW_BEGIN, 6, 20);
    add(&arrows, EVENT_FLOW_STEP, 7, 30);
    CHECK_INT(flow_arrows_finish(&arrows), 0);
    CHECK_INT(place_count, 4);
    finish(&arrows, "");
}

TEST(a_flow_is_called_as_its_first_point_that_has_a_name)
{
    struct flow_arrows arrows = {.place = on_place};
    struct event events[] = {{.kind = EVENT_FLOW_BEGIN, .time_ns = 1},
                             {.kind = EVENT_FLOW_STEP, .time_ns = 2, .name = 7},
                             {.kind = EVENT_FLOW_END, .time_ns = 3, .name = 8},
                             {.kind = EVENT_FLOW_BEGIN, .time_ns = 4},
                             {.kind = EVENT_FLOW_END, .time_ns = 5}};
    for (int i = 0; i < 5; i++)
        CHECK_INT(flow_arrows_add(&arrows, &events[i]), 0);
    CHECK_INT(flow_arrows_finish(&arrows), 0);
    for (int i = 0; i < 5; i++)
        CHECK_INT(places[i].name, i < 3 ? 7 : 0);
    finish(&arrows, "1>2 2>3 4>5");
}

TEST(too_many_ends_are_cut_and_counted)
{
    struct flow_arrows arrows = {.place = on_place};
    add(&arrows, EVENT_FLOW_BEGIN, 5, 0);
    for (int i = 1; i <= FLOW_ENDS_MAX + 5; i++)
        add(&arrows, EVENT_FLOW_END, 5, i);
    CHECK_INT(flow_arrows_finish(&arrows), 0);
    CHECK_INT(place_count, FLOW_ENDS_MAX + 6);
    CHECK_INT(places[0].leave_count, FLOW_ENDS_MAX);
    CHECK_INT(places[FLOW_ENDS_MAX].arrives, places[0].leaves + FLOW_ENDS_MAX - 1);
    CHECK_INT(places[FLOW_ENDS_MAX + 1].arrives, 0);
    CHECK_INT(arrows.cut_count, 1);
    flow_arrows_fini(&arrows);
}

/* Open flows stay in memory, finished ones are removed. */
TEST(a_full_table_keeps_what_is_on_its_way)
{
    struct flow_arrows arrows = {.place = on_place, .points_max = 8};
    add(&arrows, EVENT_FLOW_BEGIN, 1, 1);
    add(&arrows, EVENT_FLOW_END, 2, 2); /* collected before its begin */
    for (int i = 0; i < 30; i++) {
        add(&arrows, EVENT_FLOW_BEGIN, 100, 10 + 2 * i);
        add(&arrows, EVENT_FLOW_END, 100, 11 + 2 * i);
        CHECK(arrows.points.count < 8);
    }
    CHECK(place_count >= 56);
    CHECK_INT(arrows.cut_count, 0);
    place_count = 0;
    add(&arrows, EVENT_FLOW_END, 1, 90);
    add(&arrows, EVENT_FLOW_BEGIN, 2, 0);
    CHECK_INT(flow_arrows_finish(&arrows), 0);
    CHECK(strstr(arrows_text(), "1>90") && strstr(arrows_text(), "0>2"));
    place_count = 0;
    for (uint64_t i = 0; i < 20; i++) /* flows without an end */
        add(&arrows, EVENT_FLOW_BEGIN, i, 1);
    CHECK(arrows.points.count < 8);
    CHECK_INT(place_count + arrows.points.count, 20);
    CHECK_INT(arrows.cut_count, place_count);
    flow_arrows_fini(&arrows);
}

static int fail(void *context, const struct flow_place *place)
{
    (void)context, (void)place;
    return 42;
}

TEST(a_result_of_the_callback_stops)
{
    struct flow_arrows arrows = {.place = fail, .points_max = 3};
    struct event event = {.kind = EVENT_FLOW_END};
    add(&arrows, EVENT_FLOW_BEGIN, 0, 0);
    add(&arrows, EVENT_FLOW_END, 0, 1);
    event.time_ns = 2;
    CHECK_INT(flow_arrows_add(&arrows, &event), 42);
    flow_arrows_fini(&arrows);
}

static uint64_t random_state = 77;

static unsigned draw(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

/* The last begin or step of the flow before `to`, or -1. All times are distinct. */
static int source_of(const struct flow_point *points, int count, int to)
{
    int source = -1;
    if (points[to].kind == EVENT_FLOW_BEGIN)
        return -1;
    for (int i = 0; i < count; i++) {
        bool before = points[i].flow == points[to].flow && points[i].time_ns < points[to].time_ns &&
                      points[i].kind != EVENT_FLOW_END;
        if (before && (source < 0 || points[i].time_ns > points[source].time_ns))
            source = i;
    }
    return source;
}

static int placed_at(int64_t time_ns)
{
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].point.time_ns == time_ns)
            return (int)i;
    }
    return -1;
}

TEST(points_in_any_order_agree_with_a_plain_model)
{
    enum { POINTS = 60 };

    for (int round = 0; round < 300; round++) {
        struct flow_arrows arrows = {.place = on_place};
        struct flow_point points[POINTS];
        int64_t times[POINTS] = {0};
        place_count = 0;
        for (int i = 0; i < POINTS; i++) {
            unsigned at = draw((unsigned)i + 1); /* a shuffle */
            times[i] = times[at];
            times[at] = i;
        }
        for (int i = 0; i < POINTS; i++) {
            points[i] = (struct flow_point){
                .time_ns = times[i], .flow = draw(6), .kind = EVENT_FLOW_BEGIN + draw(3)};
            add(&arrows, points[i].kind, points[i].flow, times[i]);
        }
        CHECK_INT(flow_arrows_finish(&arrows), 0);
        CHECK_INT(place_count, POINTS);
        for (int i = 0; i < POINTS; i++) {
            const struct placed *target = &places[placed_at(times[i])];
            int source = source_of(points, POINTS, i);
            CHECK_INT(target->arrives != 0, source >= 0);
            if (source < 0)
                continue;
            const struct placed *from = &places[placed_at(points[source].time_ns)];
            CHECK(target->arrives >= from->leaves &&
                  target->arrives < from->leaves + from->leave_count);
        }
        flow_arrows_fini(&arrows);
    }
}
