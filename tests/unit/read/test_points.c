/* SPDX-License-Identifier: MIT */
/* Instants and begins in a selection. */
#include "pass.h"
#include "test.h"

static const struct pass_selection *selected;
static char kinds[32]; /* of the items, in order */
static size_t told_count;
static uint32_t teller, next_point;

static bool is_first(void *context, uint32_t thread)
{
    (void)context;
    return thread == 0;
}

static const struct event points[] = {
    {.time_ns = 5, .kind = EVENT_POP, .depth = 0}, /* without a begin */
    {.time_ns = 10, .kind = EVENT_PUSH, .name = 1},
    {.time_ns = 11, .kind = EVENT_LOST, .end_ns = 12, .depth = 1},
    {.time_ns = 20, .kind = EVENT_MARK, .name = 2},
    {.time_ns = 30, .kind = EVENT_EDGE},
    {.time_ns = 40, .kind = EVENT_COUNTER, .name = 3},
    {.time_ns = 50, .kind = EVENT_POP, .depth = 7}, /* without a begin */
    {.time_ns = 60, .kind = EVENT_LOST, .end_ns = 70},
    {.time_ns = 80, .kind = EVENT_MARK, .name = 4},
    {.time_ns = 79, .kind = EVENT_MARK, .name = 5}, /* backwards in time */
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    static struct event event;
    (void)context;
    if (next_point == sizeof(points) / sizeof(*points))
        return 0;
    event = points[next_point++];
    event.thread = teller;
    *ret_batch = (struct event_batch){.thread = teller, .count = 1, .events = &event};
    return 1;
}

static int take(void *context, const struct item *item)
{
    static const char letters[] = "OSicfleo";
    (void)context;
    CHECK(item->event->time_ns >= selected->from_ns);
    CHECK(item->begin_ns >= selected->from_ns && item->end_ns <= selected->to_ns);
    for (uint32_t i = 0; i < item->depth; i++)
        CHECK_INT(item->parents[i]->name, 1); /* the only range, also for events inside calls */
    CHECK(told_count + 1 < sizeof(kinds));
    kinds[told_count++] = letters[item->kind];
    return 0;
}

/* Opened, Span, instant, counter, flow, lost, edge, orphan. */
static void check_points(uint32_t thread, const struct pass_selection *selection,
                         const char *expected)
{
    struct trace *trace = trace_create();
    const struct pass_source source = {.trace = trace, .next_events = next_events};
    const struct sink sink = {take, NULL, WANT_EVENTS | WANT_BEGINS};
    trace_process_add(trace);
    trace_thread_add(trace, 0);
    trace_thread_add(trace, 0);
    selected = selection;
    teller = thread;
    next_point = 0;
    told_count = 0;
    memset(kinds, 0, sizeof(kinds));
    CHECK_INT(pass_read(&source, selection, &sink, 1), 0);
    CHECK_STR(kinds, expected);
    trace_destroy(trace);
}

TEST(a_selection_has_the_points_inside_of_it)
{
    struct pass_selection selection = PASS_SELECT_ALL;
    check_points(0, &selection, "oOliSecolii");
    selection.from_ns = 12; /* end of the gap */
    check_points(0, &selection, "OiSecolii");
    selection.from_ns = 20;
    check_points(0, &selection, "OiSecolii");
    selection.from_ns = 30; /* end of the range and of the edge */
    check_points(0, &selection, "colii");
    selection.from_ns = 65;
    check_points(0, &selection, "lii");
    selection.from_ns = 70;
    check_points(0, &selection, "ii");
    selection.to_ns = 80; /* end of the selection */
    check_points(0, &selection, "");
    selection.from_ns = INT64_MIN;
    selection.to_ns = 70;
    check_points(0, &selection, "oOliSeco");
    selection.to_ns = 25;
    check_points(0, &selection, "oOliS");
    selection = PASS_SELECT_ALL;
    selection.wants = is_first;
    check_points(0, &selection, "oOliSecolii");
    check_points(1, &selection, "");
    selection.range = ""; /* the test's names are no names */
    check_points(0, &selection, "e");
}
