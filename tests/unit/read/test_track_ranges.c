/* SPDX-License-Identifier: MIT */
/* Tracks, flows and key-values, as a line of text per item:
 *
 *     open 1:10 d0 {5=7}      range 1 began at 10 on no other, with key 5 = 7
 *     close 1:10-20 d0 f0 t1  it ended at 20, no flags, on thread 1 */
#include "lane_tracks.h"
#include "pass_state.h"
#include "test.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *text; /* the items, one line each */
static size_t text_size;
static FILE *lines;
static struct trace *trace;
static struct pass *pass;
static struct event_batch queued; /* count 0: consumed */
static int64_t settled_ns;        /* settled time of the next batches */
static bool live;                 /* in order of time, one by one */
static int64_t to_ns;             /* of the selection: a step must not need later events */

static void print_args(const struct args *args)
{
    for (uint32_t i = 0; i < args->count; i++)
        fprintf(lines, "%s%u=%" PRIu64, i ? "," : " {", args->items[i].key,
                args->items[i].value.uint64);
    fputs(args->count ? "}\n" : "\n", lines);
}

static void print_span(const char *what, const struct item *item)
{
    fprintf(lines, "%s %u:%" PRId64 "-%" PRId64 " d%u f%u t%u", what, item->event->name,
            item->begin_ns, item->end_ns, item->depth, item->flags, item->end_thread);
    for (uint32_t i = 0; i < item->depth; i++)
        fprintf(lines, "/%u", item->parents[i]->name);
    print_args(&item->args);
    const struct args end = item_end_args(item);
    if (end.count) {
        fputs("  at its end", lines);
        print_args(&end);
    }
}

static void print_point(const struct item *item)
{
    static const char *const kinds[] = {[ITEM_OPENED] = "open",
                                        [ITEM_INSTANT] = "mark",
                                        [ITEM_EDGE] = "edge",
                                        [ITEM_ORPHAN] = "orphan"};
    bool on_track = item->lane == LANE_TRACK;
    fprintf(lines, "%s%s %u:%" PRId64, on_track && item->kind != ITEM_OPENED ? "track " : "",
            kinds[item->kind], item->event->name, item->begin_ns);
    if (on_track)
        fprintf(lines, " d%u", item->depth);
    for (uint32_t i = 0; on_track && item->kind == ITEM_INSTANT && i < item->depth; i++)
        fprintf(lines, "/%u", item->parents[i]->name);
    print_args(&item->args);
}

static int print(void *context, const struct item *item)
{
    static const char *const spans[] = {
        [LANE_THREAD] = "pushed", [LANE_PROCESS] = "started", [LANE_TRACK] = "close"};
    (void)context;
    if (item->kind == ITEM_SPAN)
        print_span(spans[item->lane], item);
    else if (item->kind == ITEM_FLOW)
        fprintf(lines, "flow %u %" PRIu64 ":%" PRId64 "\n", item->event->kind, item->event->id,
                item->begin_ns);
    else if (item->kind != ITEM_OPENED || item->lane == LANE_TRACK)
        print_point(item);
    return 0;
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    *ret_batch = queued;
    queued.count = 0;
    return ret_batch->count > 0;
}

/* Threads 0 and 1 of one process, 2 of another. */
static void begin_with(int (*take)(void *, const struct item *),
                       const struct pass_selection *selection)
{
    const struct sink sink = {take, NULL, WANT_EVENTS | WANT_BEGINS};
    live = false;
    to_ns = selection->to_ns;
    trace = trace_create();
    for (int i = 0; i < 2; i++)
        trace_process_add(trace);
    for (uint32_t i = 0; i < 3; i++)
        trace_thread_add(trace, i / 2);
    const struct pass_source source = {.trace = trace, .next_events = next_events};
    pass = pass_create(&source, selection, &sink, 1);
    CHECK(pass);
}

static void begin(void)
{
    lines = open_memstream(&text, &text_size);
    CHECK(lines);
    begin_with(print, &PASS_SELECT_ALL);
}

/* Replaces the pass that begin() made. */
static void pass_again(const struct pass_selection *selection, uint32_t more_wants)
{
    live = more_wants & WANT_TIME_ORDER;
    to_ns = selection->to_ns;
    const struct pass_source source = {.trace = trace, .next_events = next_events, .live = live};
    const struct sink sink = {print, NULL, WANT_EVENTS | WANT_BEGINS | more_wants};
    pass_destroy(pass);
    pass = pass_create(&source, selection, &sink, 1);
    CHECK(pass);
}

static void in_lanes(const struct pass_selection *selection)
{
    pass_again(selection, 0);
}

static void in_time(const struct pass_selection *selection)
{
    pass_again(selection, WANT_TIME_ORDER);
}

static void finish(const char *expected, uint64_t orphans)
{
    pass_settle(pass, INT64_MAX);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->orphans, orphans);
    fclose(lines);
    CHECK_STR(text, expected);
    free(text);
    pass_destroy(pass);
    trace_destroy(trace);
}

/* One event, and pairs of key and value up to key 0. */
static void feed(struct event event, ...)
{
    struct arg args[16];
    va_list values;
    va_start(values, event);
    for (uint32_t key; (key = va_arg(values, uint32_t)) != 0;)
        args[event.arg_count++] = (struct arg){
            .key = key, .kind = VALUE_UINT64, .value.uint64 = va_arg(values, uint32_t)};
    va_end(values);
    queued = (struct event_batch){event.thread, 1, &event, {0}, settled_ns, args, 0, 0};
    if (live)
        pass_settle(pass, event.time_ns + 1);
    int status = pass_step(pass);
    CHECK(status == 1 || (status == 0 && event.time_ns > to_ns));
}

static struct event at(enum event_kind kind, uint32_t thread, int64_t time_ns, uint64_t id)
{
    return (struct event){.kind = (uint8_t)kind,
                          .thread = thread,
                          .time_ns = time_ns,
                          .id = id,
                          .lane = (uint32_t)id};
}

static void track_begin(uint32_t thread, int64_t time_ns, uint64_t track, uint32_t name)
{
    struct event event = at(EVENT_TRACK_BEGIN, thread, time_ns, track);
    event.name = name;
    feed(event, 0);
}

static void track_end(uint32_t thread, int64_t time_ns, uint64_t track)
{
    feed(at(EVENT_TRACK_END, thread, time_ns, track), 0);
}

TEST(key_values_come_with_each_kind_of_event)
{
    begin();
    struct event event = at(EVENT_PUSH, 0, 10, 0);
    event.name = 1;
    feed(event, 5, 7, 6, 8, 0);
    event.time_ns = 11;
    event.name = 2;
    feed(event, 0);
    event.time_ns = 12;
    event.name = 3;
    feed(event, 9, 1, 0);
    feed(at(EVENT_POP, 0, 13, 2), 0);
    feed(at(EVENT_POP, 0, 14, 1), 0);
    event = at(EVENT_MARK, 0, 15, 0);
    feed(event, 4, 4, 0);
    feed(at(EVENT_POP, 0, 16, 0), 0);
    feed(at(EVENT_START, 0, 20, 77), 3, 33, 0);
    feed(at(EVENT_END, 1, 25, 77), 0);
    feed(at(EVENT_END, 1, 35, 78), 0); /* precedes its start, in the file */
    feed(at(EVENT_START, 0, 30, 78), 3, 34, 0);
    feed(at(EVENT_START, 0, 40, 79), 3, 35, 0);
    feed(at(EVENT_START, 0, 41, 79), 3, 36, 0);
    feed(at(EVENT_TRACK_MARK, 0, 50, 1), 2, 22, 0);
    feed(at(EVENT_TRACK_BEGIN, 0, 60, 1), 2, 23, 0);
    finish("pushed 3:12-13 d2 f0 t0/1/2 {9=1}\n"
           "pushed 2:11-14 d1 f0 t0/1\n"
           "mark 0:15 {4=4}\n"
           "pushed 1:10-16 d0 f0 t0 {5=7,6=8}\n"
           "started 0:20-25 d0 f0 t1 {3=33}\n"
           "orphan 0:35\n"
           "started 0:30-35 d0 f16 t1 {3=34}\n"
           "started 0:40-41 d0 f1 t0 {3=35}\n"
           "started 0:41-60 d0 f1 t0 {3=36}\n"
           "track mark 0:50 d0 {2=22}\n"
           "open 0:60 d0 {2=23}\n"
           "close 0:60-60 d0 f1 t0 {2=23}\n",
           0);
}

TEST(key_values_of_an_end_come_behind_those_of_the_begin)
{
    begin();
    struct event event = at(EVENT_PUSH, 0, 10, 0);
    feed(event, 5, 7, 0);
    event.time_ns = 11;
    feed(event, 0);
    feed(at(EVENT_POP, 0, 13, 1), 6, 8, 0);
    feed(at(EVENT_POP, 0, 14, 0), 1, 2, 3, 4, 0);
    feed(at(EVENT_POP, 0, 15, 0), 1, 2, 0); /* without a begin */
    feed(at(EVENT_START, 0, 20, 77), 3, 33, 4, 44, 0);
    feed(at(EVENT_END, 1, 25, 77), 5, 55, 0);
    feed(at(EVENT_END, 1, 35, 78), 5, 56, 6, 66, 0); /* precedes its start, in the file */
    feed(at(EVENT_START, 0, 30, 78), 3, 34, 0);
    feed(at(EVENT_END, 1, 45, 79), 5, 57, 0);
    feed(at(EVENT_START, 0, 40, 79), 0);
    feed(at(EVENT_TRACK_BEGIN, 0, 60, 1), 2, 23, 0);
    feed(at(EVENT_TRACK_END, 0, 61, 1), 7, 77, 0);
    finish("pushed 0:11-13 d1 f0 t0/0 {6=8}\n  at its end {6=8}\n"
           "pushed 0:10-14 d0 f0 t0 {5=7,1=2,3=4}\n  at its end {1=2,3=4}\n"
           "orphan 0:15 {1=2}\n"
           "started 0:20-25 d0 f0 t1 {3=33,4=44,5=55}\n  at its end {5=55}\n"
           "orphan 0:35 {5=56,6=66}\n"
           "started 0:30-35 d0 f16 t1 {3=34,5=56,6=66}\n  at its end {5=56,6=66}\n"
           "orphan 0:45 {5=57}\n"
           "started 0:40-45 d0 f16 t1 {5=57}\n  at its end {5=57}\n"
           "open 0:60 d0 {2=23}\n"
           "close 0:60-61 d0 f0 t0 {2=23,7=77}\n  at its end {7=77}\n",
           1);
}

TEST(ranges_of_a_track_nest_whoever_begins_and_ends_them)
{
    begin();
    track_begin(0, 10, 5, 1);
    track_begin(1, 20, 5, 2);
    track_begin(2, 25, 6, 9);
    feed(at(EVENT_TRACK_MARK, 2, 27, 5), 0);
    track_end(2, 30, 5);
    track_end(1, 40, 5);
    track_end(0, 45, 6);
    finish("open 1:10 d0\n"
           "open 2:20 d1\n"
           "open 9:25 d0\n"
           "track mark 0:27 d2/1/2\n"
           "close 2:20-30 d1 f0 t2/1\n"
           "close 1:10-40 d0 f0 t1\n"
           "close 9:25-45 d0 f0 t0\n",
           0);
}

/* Batches are in the order in which they were collected. */
TEST(a_track_s_events_are_paired_in_order_of_time)
{
    begin();
    track_end(1, 30, 5); /* ends a range of thread 0 */
    track_begin(1, 35, 5, 3);
    track_end(1, 50, 5);
    track_begin(0, 10, 5, 1);
    track_begin(0, 32, 5, 2);
    track_end(0, 60, 5);
    finish("open 1:10 d0\n"
           "close 1:10-30 d0 f0 t1\n"
           "open 2:32 d0\n"
           "open 3:35 d1\n"
           "close 3:35-50 d1 f0 t1/2\n"
           "close 2:32-60 d0 f0 t0\n",
           0);
}

TEST(unfinished_ranges_of_tracks_end_inside_of_what_is_around_them)
{
    begin();
    trace_process(trace, 0)->end_ns = 500;
    trace_session(trace)->end_ns = 1000;
    track_begin(0, 10, 5, 1);
    track_begin(2, 20, 5, 2); /* its process continues */
    track_begin(0, 30, 6, 3);
    track_end(0, 40, 7);
    finish("open 1:10 d0\n"
           "open 2:20 d1\n"
           "open 3:30 d0\n"
           "track orphan 0:40 d0\n"
           "close 2:20-1000 d1 f1 t2/1\n"
           "close 1:10-1000 d0 f1 t0\n"
           "close 3:30-500 d0 f1 t0\n",
           1);
}

TEST(an_edge_ends_the_ranges_of_tracks_that_its_thread_began)
{
    begin();
    track_begin(0, 10, 5, 1);
    track_begin(1, 11, 5, 2);
    track_begin(1, 12, 6, 3);
    feed(at(EVENT_EDGE, 0, 50, 0), 0);
    track_begin(0, 60, 5, 4);
    track_end(0, 70, 5);
    track_end(1, 80, 6);
    finish("edge 0:50\n" /* an edge belongs only to its thread */
           "open 1:10 d0\n"
           "open 2:11 d1\n"
           "open 3:12 d0\n"
           "close 2:11-50 d1 f1 t1/1\n"
           "close 1:10-50 d0 f1 t0\n"
           "open 4:60 d0\n"
           "close 4:60-70 d0 f0 t0\n"
           "close 3:12-80 d0 f0 t1\n",
           0);
}

TEST(hidden_ranges_take_their_ends_and_are_not_seen)
{
    begin();
    feed(at(EVENT_TRACK_HIDDEN, 0, 10, 5), 0);
    track_begin(0, 20, 5, 1);
    feed(at(EVENT_TRACK_HIDDEN, 0, 30, 5), 0);
    feed(at(EVENT_TRACK_HIDDEN, 1, 31, 5), 0);
    track_begin(0, 40, 5, 2);
    track_end(0, 50, 5); /* of 2 */
    track_end(0, 60, 5);
    track_end(0, 61, 5);
    track_end(0, 70, 5); /* of 1 */
    track_end(0, 80, 5);
    track_end(0, 90, 5); /* without a begin */
    track_begin(0, 95, 5, 3);
    track_end(0, 96, 5);
    finish("open 1:20 d0\n"
           "open 2:40 d1\n"
           "close 2:40-50 d1 f0 t0/1\n"
           "close 1:20-70 d0 f0 t0\n"
           "track orphan 0:90 d0\n"
           "open 3:95 d0\n"
           "close 3:95-96 d0 f0 t0\n",
           1);
}

TEST(points_of_flows_pass_through)
{
    begin();
    feed(at(EVENT_FLOW_BEGIN, 0, 10, 99), 0);
    feed(at(EVENT_FLOW_STEP, 1, 20, 99), 0);
    feed(at(EVENT_FLOW_END, 2, 30, 99), 0);
    finish("flow 9 99:10\nflow 10 99:20\nflow 11 99:30\n", 0);
}

/* Runs of any length, many equal times. */
TEST(things_are_put_in_order_of_time_and_equal_ones_stay_as_they_were)
{
    enum { COUNT_MAX = 700 };
    struct time_place places[COUNT_MAX], spare[COUNT_MAX];
    uint32_t random = 1;
    for (uint32_t count = 0; count <= COUNT_MAX; count += 1 + count / 20) {
        int64_t sum = 0, time_ns = 0;
        for (uint32_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            time_ns = random >> 28 == 0 ? 0 : time_ns + (random >> 20 & 3);
            places[i] = (struct time_place){time_ns, i};
            sum += time_ns;
        }
        time_order_sort(places, spare, count);
        for (uint32_t i = 0; i < count; i++)
            sum -= places[i].time_ns;
        CHECK_INT(sum, 0);
        for (uint32_t i = 1; i < count; i++)
            CHECK(places[i - 1].time_ns < places[i].time_ns ||
                  (places[i - 1].time_ns == places[i].time_ns &&
                   places[i - 1].index < places[i].index));
    }
}

/* In order of time, items do not wait. */
TEST(in_order_of_time_an_edge_comes_behind_all_that_it_ends)
{
    begin();
    in_time(&PASS_SELECT_ALL);
    track_begin(0, 10, 5, 1);
    track_begin(1, 11, 5, 2);
    track_begin(1, 12, 6, 3);
    feed(at(EVENT_EDGE, 0, 50, 0), 0);
    track_end(1, 80, 6);
    finish("open 1:10 d0\n"
           "open 2:11 d1\n"
           "open 3:12 d0\n"
           "close 2:11-50 d1 f1 t1/1\n"
           "close 1:10-50 d0 f1 t0\n"
           "edge 0:50\n"
           "close 3:12-80 d0 f0 t1\n",
           0);
}

TEST(a_slot_of_a_track_is_used_again)
{
    begin();
    in_time(&PASS_SELECT_ALL);
    for (uint32_t i = 0; i < 3; i++) {
        track_begin(0, 100 * i + 10, 10 + i, 1 + i);
        feed(at(EVENT_TRACK_HIDDEN, 0, 100 * i + 11, 20 + i), 0);
        track_end(0, 100 * i + 20, 10 + i);
        track_end(0, 100 * i + 21, 20 + i);
        track_end(0, 100 * i + 22, 20 + i);
    }
    finish("open 1:10 d0\nclose 1:10-20 d0 f0 t0\ntrack orphan 0:22 d0\n"
           "open 2:110 d0\nclose 2:110-120 d0 f0 t0\ntrack orphan 0:122 d0\n"
           "open 3:210 d0\nclose 3:210-220 d0 f0 t0\ntrack orphan 0:222 d0\n",
           3);
}

/* The first range began before the selection, the third ends after it. */
TEST(of_a_track_a_selection_has_what_lies_in_it)
{
    static const char *const expected = "open 1:50 d0 {1=1}\n"
                                        "close 1:50-60 d0 f4 t0 {1=1,2=2}\n  at its end {2=2}\n"
                                        "open 2:65 d0 {3=3}\n"
                                        "track mark 9:66 d1/2\n"
                                        "close 2:65-70 d0 f8 t0 {3=3}\n";
    const struct pass_selection selection = {.from_ns = 50, .to_ns = 70};
    for (int time_order = 0; time_order < 2; time_order++) {
        begin();
        time_order ? in_time(&selection) : in_lanes(&selection);
        struct event event = at(EVENT_TRACK_BEGIN, 0, 10, 5);
        event.name = 1;
        feed(event, 1, 1, 0);
        track_begin(0, 20, 5, 7);
        track_end(0, 50, 5); /* just before */
        feed(at(EVENT_TRACK_END, 0, 60, 5), 2, 2, 0);
        event = at(EVENT_TRACK_BEGIN, 0, 65, 5);
        event.name = 2;
        feed(event, 3, 3, 0);
        event = at(EVENT_TRACK_MARK, 1, 66, 5);
        event.name = 9;
        feed(event, 0);
        feed(at(EVENT_TRACK_END, 0, 70, 5), 4, 4, 0);
        feed(at(EVENT_TRACK_BEGIN, 0, 71, 5), 0);
        finish(expected, 0);
    }
}

TEST(what_an_end_behind_the_selection_knew_is_not_told)
{
    begin();
    in_lanes(&(struct pass_selection){.from_ns = 50, .to_ns = 70});
    feed(at(EVENT_START, 0, 10, 77), 1, 1, 0);
    feed(at(EVENT_END, 1, 80, 77), 2, 2, 0);
    feed(at(EVENT_START, 0, 60, 78), 1, 3, 0);
    feed(at(EVENT_END, 1, 65, 78), 2, 4, 0);
    finish("started 0:50-70 d0 f12 t0 {1=1}\n"
           "started 0:60-65 d0 f0 t1 {1=3,2=4}\n  at its end {2=4}\n",
           0);
}

static int64_t last_ns;
static uint64_t closed;

static int count_closed(void *context, const struct item *item)
{
    (void)context;
    if (item->kind != ITEM_SPAN)
        return item->kind != ITEM_OPENED;
    CHECK_INT(item->flags, 0);
    CHECK_INT(item->args.count, 2);
    CHECK_INT(item->args.items[0].value.uint64, item->event->name);
    CHECK(item->end_ns >= last_ns);
    last_ns = item->end_ns;
    closed++;
    return 0;
}

/* Two threads alternate; ends by one thread are in the file before the begins by the other. */
static void take_turns(int64_t rounds, int64_t each, bool known)
{
    begin_with(count_closed, &PASS_SELECT_ALL);
    last_ns = 0;
    closed = 0;
    for (int64_t round = 0; round < rounds; round++) {
        int64_t begin_ns = 1 + round * each * 2;
        settled_ns = known ? begin_ns : 0;
        for (int64_t i = 0; i < each; i++)
            track_end(1, begin_ns + 2 * i + 1, (uint64_t)i % 1000);
        for (int64_t i = 0; i < each; i++) {
            struct event begin = at(EVENT_TRACK_BEGIN, 0, begin_ns + 2 * i, (uint64_t)i % 1000);
            begin.name = 1 + (uint32_t)i % 50;
            feed(begin, 7, begin.name, 8, 1, 0);
        }
    }
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->orphans, 0);
    CHECK_INT(closed, (uint64_t)(rounds * each));
    pass_destroy(pass);
    trace_destroy(trace);
    settled_ns = 0;
}

/* Batches settle no time, and the first event arrives last. */
TEST(at_the_limit_events_of_tracks_go_on)
{
    begin_with(count_closed, &PASS_SELECT_ALL);
    last_ns = 0;
    closed = 0;
    settled_ns = 1; /* no event is settled */
    for (int64_t i = 0; i < TRACKS_WAITING_MAX; i++) {
        struct event begin = at(EVENT_TRACK_BEGIN, 0, 10 + 2 * i, 1);
        CHECK_INT(closed, 0);
        begin.name = 1;
        feed(begin, 7, 1, 8, 1, 0);
        if (closed == 0 && i * 2 + 1 < TRACKS_WAITING_MAX)
            track_end(1, 11 + 2 * i, 1);
        if (closed > 0)
            break;
    }
    CHECK(closed > 0);
    CHECK_INT(closed, TRACKS_WAITING_MAX / 4);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(closed, TRACKS_WAITING_MAX / 2);
    pass_destroy(pass);
    trace_destroy(trace);
}

TEST(order_holds_for_many_more_events_than_wait_at_a_time)
{
    take_turns(20, TRACKS_WAITING_MIN / 8, false);
}

TEST(events_wait_until_nothing_earlier_can_come)
{
    take_turns(6, TRACKS_WAITING_MIN * 3 / 2, true);
}
