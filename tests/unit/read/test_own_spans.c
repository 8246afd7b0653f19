/* SPDX-License-Identifier: MIT */
/* Spans of a thread reported by an observer nest with its ranges, regardless of their order. */
#include "pass.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <string.h>

static struct maker *maker;
static char told[1024];

static uint32_t begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, -1, "program", 0);
    uint32_t thread = maker_thread(maker, process, 100, "main");
    trace_thread(maker_trace(maker), thread)->probed = true;
    return thread;
}

static void add_span(uint32_t thread, int64_t first, int64_t last, const char *name)
{
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = first,
                                       .end_ns = MAKER_BEGIN_NS + last,
                                       .lane = EVENT_OWN_LANE,
                                       .origin_ns = EVENT_NO_ORIGIN,
                                       .name = maker_string(maker, name)});
}

/* "load/read 20-30 self 5!"; "!": it crosses another span. */
static int take(void *context, const struct item *item)
{
    const struct trace *trace = context;
    size_t length = strlen(told);
    char *at = told + length, *end = told + sizeof(told);
    if (item->kind != ITEM_SPAN)
        return 0;
    CHECK_INT(item->lane, LANE_THREAD);
    CHECK_INT(item->end_thread, item->event->thread);
    at += snprintf(at, (size_t)(end - at), "%s", length ? ", " : "");
    for (uint32_t i = 0; i < item->depth; i++)
        at += snprintf(at, (size_t)(end - at), "%s/",
                       trace_string(trace, item->parents[i]->name)->bytes);
    snprintf(at, (size_t)(end - at), "%s %d-%d self %d%s",
             trace_string(trace, item->event->name)->bytes, (int)(item->begin_ns - MAKER_BEGIN_NS),
             (int)(item->end_ns - MAKER_BEGIN_NS),
             (int)(item->end_ns - item->begin_ns - item->child_ns),
             item->flags & ITEM_CROSSED ? "!" : "");
    return 0;
}

static void check(uint32_t wants, uint64_t crossed, const char *expected)
{
    const struct sink sink = {take, maker_trace(maker), WANT_EVENTS | wants};
    struct pass_source source = maker_pass_source(maker);
    maker_rewind(maker);
    told[0] = 0;
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    CHECK_STR(told, expected);
    CHECK_INT(pass_counts(pass)->crossed, crossed);
    CHECK_INT(pass_counts(pass)->late, 0);
    pass_destroy(pass);
}

static void check_all(uint64_t crossed, const char *expected)
{
    maker_finish(maker, 1000);
    check(0, crossed, expected);
    check(WANT_NUMBERS, crossed, expected);
    check(WANT_TIME_ORDER, crossed, expected);
    maker_destroy(maker);
}

TEST(a_span_lies_between_what_is_around_it_and_what_is_in_it)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 30, "hook");
    maker_pop(maker, thread, 40);
    maker_pop(maker, thread, 60);
    add_span(thread, 70, 90, "write");
    add_span(thread, 20, 50, "read");
    add_span(thread, 75, 80, "lock");
    check_all(0, "load/read/hook 30-40 self 10, load/read 20-50 self 20, load 10-60 self 20, "
                 "write/lock 75-80 self 5, write 70-90 self 15");
}

TEST(a_span_ends_with_the_range_around_it)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 20, "step");
    maker_pop(maker, thread, 40);
    maker_pop(maker, thread, 60);
    add_span(thread, 30, 50, "end_step");
    check_all(1, "load/step/end_step 30-40 self 10!, load/step 20-40 self 10, load 10-60 self 30");
}

TEST(a_span_ends_where_something_begins_that_outlasts_it)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 20, "step");
    maker_pop(maker, thread, 100);
    add_span(thread, 10, 30, "begin_step");
    add_span(thread, 40, 60, "one");
    add_span(thread, 50, 70, "other");
    check_all(2, "begin_step 10-20 self 10!, step/one 40-50 self 10!, step/other 50-70 self 20, "
                 "step 20-100 self 50");
}

/* An unfinished range lasts to the end. */
TEST(a_span_ends_where_a_range_begins_that_stays_open)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 20, "step");
    add_span(thread, 10, 30, "begin_step");
    check_all(1, "begin_step 10-20 self 10!, step 20-1000 self 980");
}

TEST(of_what_has_the_same_time_ends_come_first_and_then_the_longest)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_pop(maker, thread, 30);
    maker_push(maker, thread, 30, "store");
    maker_pop(maker, thread, 50);
    add_span(thread, 10, 20, "short");
    add_span(thread, 10, 30, "long");
    add_span(thread, 30, 30, "none");
    check_all(0, "load/long/short 10-20 self 10, load/long 10-30 self 10, load 10-30 self 0, "
                 "store/none 30-30 self 0, store 30-50 self 20");
}

/* The begin of a range was lost; its end must not close the span. */
TEST(a_lost_begin_ends_no_span)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_lost(maker, thread, &(struct maker_gap){.begin = 30, .end = 40, .lost = 1, .depth = 2});
    maker_event(maker,
                &(struct event){.kind = EVENT_POP, .thread = thread, .time_ns = 50, .depth = 1});
    maker_pop(maker, thread, 90);
    add_span(thread, 20, 80, "read");
    check_all(0, "load/read 20-80 self 60, load 10-90 self 20");
}

/* ---- Counters of the collector --------------------------------------------------------------- */

static void add_counter(uint32_t thread, int64_t time, int64_t value)
{
    const struct scope scope = {.observer = OBSERVER_MEMORY};
    maker_event(maker,
                &(struct event){.kind = EVENT_COUNTER,
                                .thread = thread,
                                .time_ns = time,
                                .name = maker_string(maker, "RSS"),
                                .scope = (uint32_t)trace_scope_add(maker_trace(maker), &scope),
                                .value_kind = VALUE_INT64,
                                .value = {.int64 = value}});
}

/* "7 at 20" */
static int take_counter(void *context, const struct item *item)
{
    size_t length = strlen(told);
    (void)context;
    if (item->kind == ITEM_COUNTER)
        snprintf(told + length, sizeof(told) - length, "%s%d at %d", length ? ", " : "",
                 (int)item->event->value.int64, (int)(item->event->time_ns - MAKER_BEGIN_NS));
    return 0;
}

TEST(late_counters_are_in_order_of_time_and_move_no_range)
{
    const struct sink sink = {take_counter, NULL, WANT_EVENTS};
    uint32_t thread = begin();
    add_counter(thread, 40, 4);
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 30, "hook");
    maker_pop(maker, thread, 35);
    maker_pop(maker, thread, 60);
    add_counter(thread, 20, 2);
    add_span(thread, 15, 50, "read");
    add_counter(thread, 55, 5);
    maker_finish(maker, 1000);
    check(0, 0, "load/read/hook 30-35 self 5, load/read 15-50 self 30, load 10-60 self 15");
    struct pass_source source = maker_pass_source(maker);
    maker_rewind(maker);
    told[0] = 0;
    CHECK_INT(pass_read(&source, &PASS_SELECT_ALL, &sink, 1), 0);
    CHECK_STR(told, "2 at 20, 4 at 40, 5 at 55");
    maker_destroy(maker);
}
