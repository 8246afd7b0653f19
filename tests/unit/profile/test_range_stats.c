/* SPDX-License-Identifier: MIT */
/* The statistics compared with events written by hand, and with independent sums. */
#include "range_stats.h"
#include "test.h"
#include "vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVENTS_MAX = 4096 };

/* A recording under construction: one process per two threads. */
static struct trace *trace;
static struct event events[EVENTS_MAX];
static uint32_t event_count;
static struct range_stats *stats;

static uint32_t string(const char *text)
{
    return (uint32_t)trace_string_add(trace, text, strlen(text));
}

static uint32_t scope_of(const char *domain)
{
    return (uint32_t)trace_scope_of_domain(trace, string(domain));
}

static void begin_trace(unsigned threads)
{
    trace = trace_create();
    CHECK(trace);
    for (unsigned i = 0; i < threads; i++) {
        if (i % 2 == 0)
            CHECK_INT(trace_process_add(trace), i / 2);
        CHECK_INT(trace_thread_add(trace, i / 2), i);
    }
    trace_session(trace)->begin_ns = 0;
    trace_session(trace)->end_ns = 1000000;
    event_count = 0;
}

static void begin_stats(enum range_grouping grouping, uint32_t row_limit)
{
    struct range_stats_options options = {.grouping = grouping, .row_limit = row_limit};
    stats = range_stats_create(trace, &options);
    CHECK(stats);
}

static struct event *add(uint32_t thread, enum event_kind kind, const char *name, int64_t time_ns)
{
    struct event *event = &events[event_count++];
    CHECK(event_count <= EVENTS_MAX);
    *event = (struct event){.time_ns = time_ns, .thread = thread, .kind = (uint8_t)kind};
    event->name = name ? string(name) : 0;
    return event;
}

static void push(uint32_t thread, const char *name, int64_t time_ns)
{
    add(thread, EVENT_PUSH, name, time_ns);
}

static void pop(uint32_t thread, uint64_t depth, int64_t time_ns)
{
    add(thread, EVENT_POP, NULL, time_ns)->depth = depth;
}

/* The source of a pass: each run of events of one thread is a batch. */
static VEC(struct event) fed;
static size_t next_fed;

static void feed(void)
{
    CHECK_INT(vec_reserve(&fed, event_count), 0);
    memcpy(fed.items + fed.count, events, event_count * sizeof(*events));
    fed.count += event_count;
    event_count = 0;
}

static const struct arg any_arg = {.key = 1, .kind = VALUE_INT64};

static int next_batch(void *context, struct event_batch *ret_batch)
{
    (void)context;
    size_t first = next_fed;
    while (next_fed < fed.count && fed.items[next_fed].thread == fed.items[first].thread)
        next_fed++;
    *ret_batch = (struct event_batch){
        .events = fed.items + first, .count = (uint32_t)(next_fed - first), .args = &any_arg};
    if (ret_batch->count)
        ret_batch->thread = ret_batch->events->thread;
    return ret_batch->count > 0;
}

static void finish(void)
{
    const struct pass_source source = {.trace = trace, .next_events = next_batch};
    const struct sink sink = range_stats_sink(stats);
    feed();
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(range_stats_finish(stats, pass), 0);
    pass_destroy(pass);
    vec_free(&fed);
    next_fed = 0;
}

/* The row of that label (and owner), which must exist. */
static uint32_t find_owned(enum range_kind kind, uint32_t owner, const char *label)
{
    char text[256];
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        range_stats_label(stats, i, text, sizeof(text));
        if (row->count && row->kind == kind && row->owner == owner && strcmp(text, label) == 0)
            return i;
    }
    test_fail(__FILE__, __LINE__, "no row %s", label);
}

static const struct range_row *find(enum range_kind kind, const char *label)
{
    return range_stats_row(stats, find_owned(kind, RANGE_NO_OWNER, label));
}

static void end(void)
{
    range_stats_destroy(stats);
    trace_destroy(trace);
}

static void two_loads(uint32_t thread, int64_t at)
{
    push(thread, "job", at);
    push(thread, "load", at + 10);
    pop(thread, 1, at + 30);
    push(thread, "load", at + 40);
    push(thread, "parse", at + 50);
    pop(thread, 2, at + 55);
    pop(thread, 1, at + 70);
    pop(thread, 0, at + 100);
}

TEST(paths_have_count_total_and_self)
{
    begin_trace(4);
    begin_stats(RANGE_BY_PATH, 0);
    for (uint32_t thread = 0; thread < 4; thread++)
        two_loads(thread, 1000 + thread);
    finish();
    const struct range_row *load = find(RANGE_PUSHED, "job/load");
    CHECK_INT(load->count, 8);
    CHECK_INT(load->total_ns, 4 * 50);
    CHECK_INT(load->self_ns, 4 * 45);
    CHECK_INT(load->min_ns, 20);
    CHECK_INT(load->max_ns, 30);
    CHECK_INT(load->process_count, 2);
    CHECK_INT(load->thread_count, 4);
    CHECK_INT(find(RANGE_PUSHED, "job")->self_ns, 4 * 50);
    CHECK_INT(find(RANGE_PUSHED, "job/load/parse")->total_ns, 4 * 5);
    const struct range_totals *totals = range_stats_totals(stats);
    CHECK_INT(totals->covered_ns, 400);
    CHECK_INT(totals->wall_ns, 1000000);
    CHECK_INT(totals->event_count[EVENT_PUSH], 16);
    CHECK_INT(totals->event_count[EVENT_POP], 16);
    CHECK_INT(totals->other_count, 0);
    end();
}

TEST(self_times_add_up_to_the_covered_time)
{
    begin_trace(2);
    begin_stats(RANGE_BY_PATH, 0);
    int64_t now = 0, covered = 0;
    for (int i = 0; i < 100; i++) {
        two_loads(0, now);
        now += 150 + i;
        covered += 100;
        feed();
    }
    finish();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++)
        sum += range_stats_value(stats, i, RANGE_COLUMN_SELF);
    CHECK_INT(sum, covered);
    CHECK_INT(range_stats_totals(stats)->covered_ns, covered);
    end();
}

TEST(by_name_a_range_in_itself_counts_its_time_once)
{
    begin_trace(1);
    begin_stats(RANGE_BY_NAME, 0);
    push(0, "f", 0);
    push(0, "g", 10);
    push(0, "f", 20);
    pop(0, 2, 60);
    pop(0, 1, 90);
    pop(0, 0, 100);
    finish();
    uint32_t f = find_owned(RANGE_PUSHED, RANGE_NO_OWNER, "f");
    CHECK_INT(range_stats_value(stats, f, RANGE_COLUMN_COUNT), 2);
    CHECK_INT(range_stats_value(stats, f, RANGE_COLUMN_TOTAL), 100);
    CHECK_INT(range_stats_value(stats, f, RANGE_COLUMN_MEAN), 70);
    CHECK_INT(range_stats_value(stats, f, RANGE_COLUMN_SELF), 60);
    CHECK_INT(find(RANGE_PUSHED, "g")->self_ns, 40);
    end();
}

TEST(groups_by_process_and_thread_stay_apart)
{
    for (enum range_grouping grouping = RANGE_BY_PROCESS; grouping <= RANGE_BY_THREAD; grouping++) {
        begin_trace(4);
        begin_stats(grouping, 0);
        for (uint32_t thread = 0; thread < 4; thread++)
            two_loads(thread, 1000);
        finish();
        bool by_thread = grouping == RANGE_BY_THREAD;
        for (uint32_t owner = 0; owner < (by_thread ? 4 : 2); owner++) {
            uint32_t row = find_owned(RANGE_PUSHED, owner, "job/load");
            CHECK_INT(range_stats_row(stats, row)->count, by_thread ? 2 : 4);
            CHECK_INT(range_stats_row(stats, row)->thread_count, by_thread ? 1 : 2);
        }
        end();
    }
}

TEST(domains_make_paths_different)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    add(0, EVENT_PUSH, "step", 0)->scope = scope_of("nvtx");
    pop(0, 0, 5);
    push(0, "step", 10);
    pop(0, 0, 12);
    finish();
    CHECK_INT(find(RANGE_PUSHED, "nvtx:step")->total_ns, 5);
    CHECK_INT(find(RANGE_PUSHED, "step")->total_ns, 2);
    end();
}

TEST(overlapping_ranges_marks_and_counters_have_rows_of_their_own)
{
    begin_trace(2);
    begin_stats(RANGE_BY_PATH, 0);
    add(0, EVENT_START, "request", 0)->id = 1;
    add(0, EVENT_START, "request", 10)->id = 2;
    add(0, EVENT_MARK, "tick", 15);
    add(0, EVENT_MARK, "tick", 16);
    add(0, EVENT_END, NULL, 20)->id = 1;
    static const double values[] = {3, -1, 0.5};
    for (int i = 0; i < 3; i++) {
        struct event *event = add(0, EVENT_COUNTER, "queue", 30 + i);
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = values[i];
    }
    add(1, EVENT_END, NULL, 40)->id = 2;
    finish();
    CHECK_INT(find(RANGE_OVERLAPPING, "request")->count, 2);
    CHECK_INT(find(RANGE_OVERLAPPING, "request")->total_ns, 50);
    CHECK_INT(find(RANGE_OVERLAPPING, "request")->self_ns, 0);
    CHECK_INT(find(RANGE_MARK, "tick")->count, 2);
    const struct range_row *queue = range_stats_row(stats, find_owned(RANGE_COUNTER, 0, "queue"));
    CHECK_INT(queue->count, 3);
    CHECK(queue->value_last == 0.5 && queue->value_min == -1 && queue->value_max == 3);
    CHECK(queue->value_sum == 2.5);
    end();
}

/* NaN compares false with every value, in any order. */
TEST(a_value_that_is_no_number_is_neither_least_nor_greatest)
{
    static const double values[] = {NAN, 3, -1, NAN};
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    for (int i = 0; i < 4; i++) {
        struct event *event = add(0, EVENT_COUNTER, "loss", 30 + i);
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = values[i];
    }
    finish();
    const struct range_row *loss = range_stats_row(stats, find_owned(RANGE_COUNTER, 0, "loss"));
    CHECK(loss->value_min == -1 && loss->value_max == 3 && isnan(loss->value_last));
    end();
}

TEST(unfinished_and_lost_are_said_where_they_are)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    push(0, "job", 0);
    push(0, "load", 10);
    struct event *gap = add(0, EVENT_LOST, NULL, 20);
    gap->end_ns = 30;
    gap->value.uint64 = 7;
    gap->depth = 1; /* load ended inside the gap */
    push(0, "save", 40);
    finish();
    CHECK_INT(find(RANGE_PUSHED, "job")->lost, 7);
    CHECK_INT(find(RANGE_PUSHED, "job")->unfinished, 1);
    CHECK_INT(find(RANGE_PUSHED, "job/load")->end_lost, 1);
    CHECK_INT(find(RANGE_PUSHED, "job/load")->max_ns, 20);
    CHECK_INT(find(RANGE_PUSHED, "job/save")->unfinished, 1);
    end();
}

TEST(a_range_in_pieces_is_one_with_the_time_of_all)
{
    begin_trace(1);
    int64_t label = trace_python_label(trace, string("enter"), string("a.py"), 1);
    CHECK(trace_label_name(trace, (uint32_t)label) > 0);
    begin_stats(RANGE_BY_PATH, 0);
    for (int64_t at = 0; at < 300; at += 100) {
        push(0, "job", at);
        push(0, "load", at + 1);
        pop(0, 1, at + 3);
        pop(0, 0, at + 4);
        add(0, EVENT_PUSH, "job", at + 5)->flags = EVENT_CONTINUES;
        add(0, EVENT_PUSH, "load", at + 6)->flags = EVENT_CONTINUES;
        pop(0, 1, at + 26);
        push(0, "load", at + 30);
        pop(0, 1, at + 32);
        pop(0, 0, at + 40);
    }
    finish();
    const struct range_row *job = find(RANGE_PUSHED, "job"), *load = find(RANGE_PUSHED, "job/load");
    CHECK_INT(job->count, 3);
    CHECK_INT(job->total_ns, 3 * (4 + 35));
    CHECK_INT(job->min_ns, 39);
    CHECK_INT(job->max_ns, 39);
    CHECK_INT(load->count, 6);
    CHECK_INT(load->total_ns, 3 * (2 + 20 + 2));
    CHECK_INT(load->min_ns, 2);
    CHECK_INT(load->max_ns, 22);
    end();
}

TEST(a_million_names_go_into_other_and_are_counted)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 1000);
    int64_t now = 0;
    for (int i = 0; i < 1000000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "name %d", i);
        push(0, name, now++);
        pop(0, 0, now++);
        if (event_count == EVENTS_MAX)
            feed();
    }
    finish();
    CHECK_INT(range_stats_totals(stats)->other_count, 1000000 - 998);
    CHECK_INT(find(RANGE_PUSHED, "(other)")->count, 1000000 - 998);
    CHECK_INT(range_stats_totals(stats)->covered_ns, 1000000);
    CHECK(range_stats_row_count(stats) < 1010);
    uint32_t *rows = NULL;
    int64_t sorted = range_stats_sort(stats, RANGE_PUSHED, RANGE_COLUMN_TOTAL, &rows);
    CHECK_INT(sorted, 999);
    CHECK(range_stats_is_other(rows[998]) && !range_stats_is_other(rows[0]));
    free(rows);
    end();
}

TEST(ten_thousand_deep_keeps_both_ends_of_the_path)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    push(0, "root", 0);
    for (int i = 1; i < 10000; i++) {
        push(0, "f", i);
        if (event_count == EVENTS_MAX)
            feed();
    }
    for (int i = 10000; i-- > 0;) {
        pop(0, (uint64_t)i, 20000 - i);
        if (event_count == EVENTS_MAX)
            feed();
    }
    finish();
    char label[1024] = "";
    uint32_t *rows = NULL;
    CHECK_INT(range_stats_sort(stats, RANGE_PUSHED, RANGE_COLUMN_TOTAL, &rows), 10000);
    range_stats_label(stats, rows[9999], label, sizeof(label));
    CHECK(strncmp(label, "root/f/f", 8) == 0 && strstr(label, "…/f"));
    CHECK_INT(strlen(label), 4 + 63 * 2 + 4);
    range_stats_label(stats, rows[63], label, sizeof(label));
    CHECK_INT(strlen(label), 4 + 63 * 2);
    free(rows);
    end();
}

TEST(every_column_sorts_and_ties_are_broken_by_text)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    static const char *const names[] = {"d", "b", "c", "a"};
    for (int i = 0; i < 4; i++) {
        push(0, names[i], i * 100);
        pop(0, 0, i * 100 + (i == 2 ? 50 : 10));
    }
    finish();
    static const char *const by_total[] = {"c", "a", "b", "d"}, *const by_path[] = {"a", "b", "c",
                                                                                    "d"};
    char label[16];
    for (int i = 0; i < 4; i++) {
        uint32_t *rows = NULL;
        CHECK_INT(range_stats_sort(stats, RANGE_PUSHED, RANGE_COLUMN_TOTAL, &rows), 4);
        range_stats_label(stats, rows[i], label, sizeof(label));
        CHECK_STR(label, by_total[i]);
        free(rows);
        CHECK_INT(range_stats_sort(stats, RANGE_PUSHED, RANGE_COLUMN_PATH, &rows), 4);
        range_stats_label(stats, rows[i], label, sizeof(label));
        CHECK_STR(label, by_path[i]);
        free(rows);
    }
    end();
}

TEST(a_thread_nobody_knows_counts_nowhere)
{
    begin_trace(1);
    begin_stats(RANGE_BY_PATH, 0);
    add(7, EVENT_MARK, "m", 10);
    finish();
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++)
        CHECK_INT(range_stats_row(stats, i)->count, 0);
    end();
}

/* ---- Tracks ---- */

static void on_track(uint32_t thread, enum event_kind kind, uint64_t track, const char *name,
                     int64_t time_ns)
{
    add(thread, kind, name, time_ns)->lane = (uint32_t)track;
}

/* Two concurrent requests, each begun by one thread and ended by another, and the threads' own
 * ranges around them, which are unaffected. */
static void two_requests(void)
{
    push(0, "serve", 5);
    on_track(0, EVENT_TRACK_BEGIN, 1, "request", 10);
    on_track(0, EVENT_TRACK_BEGIN, 2, "request", 20);
    on_track(0, EVENT_TRACK_BEGIN, 1, "parse", 30);
    events[event_count - 1].arg_count = 1;
    add(0, EVENT_FLOW_BEGIN, NULL, 35)->id = 77;
    pop(0, 0, 100);
    on_track(2, EVENT_TRACK_END, 1, NULL, 40);
    on_track(2, EVENT_TRACK_MARK, 2, "half", 45);
    on_track(2, EVENT_TRACK_HIDDEN, 1, NULL, 50);
    on_track(2, EVENT_TRACK_END, 1, NULL, 60);
    on_track(2, EVENT_TRACK_END, 1, NULL, 110);
    add(2, EVENT_FLOW_END, NULL, 115)->id = 77;
    on_track(2, EVENT_TRACK_BEGIN, 2, "request", 120);
    on_track(2, EVENT_TRACK_END, 2, NULL, 130);
    on_track(2, EVENT_TRACK_END, 2, NULL, 220);
}

TEST(ranges_on_tracks_have_paths_of_their_track)
{
    begin_trace(4);
    begin_stats(RANGE_BY_PATH, 0);
    two_requests();
    finish();
    const struct range_row *row = find(RANGE_TRACK, "request");
    CHECK_INT(row->count, 2);
    CHECK_INT(row->total_ns, 100 + 200);
    CHECK_INT(row->self_ns, 90 + 190);
    CHECK_INT(row->thread_count, 1);
    row = find(RANGE_TRACK, "request/parse");
    CHECK_INT(row->total_ns, 10);
    row = find(RANGE_TRACK, "request/request");
    CHECK_INT(row->total_ns, 10);
    CHECK_INT(find(RANGE_MARK, "half")->count, 1);
    row = find(RANGE_PUSHED, "serve");
    CHECK_INT(row->total_ns, 95);
    CHECK_INT(row->self_ns, 95);
    CHECK_INT(range_stats_totals(stats)->covered_ns, 95);
    CHECK_INT(range_stats_totals(stats)->orphan_count, 0);
    CHECK_INT(range_stats_value(stats, find_owned(RANGE_TRACK, RANGE_NO_OWNER, "request"),
                                RANGE_COLUMN_SELF),
              280);
    end();
}

TEST(ranges_on_tracks_belong_to_who_began_them)
{
    begin_trace(4);
    begin_stats(RANGE_BY_PROCESS, 0);
    two_requests();
    finish();
    const struct range_row *row =
        range_stats_row(stats, find_owned(RANGE_TRACK, 0, "request/request"));
    CHECK_INT(row->count, 1); /* begun by process 0 */
    CHECK_INT(row->process_count, 1);
    end();
}

TEST(ranges_on_tracks_by_name_are_not_counted_inside_themselves)
{
    begin_trace(4);
    begin_stats(RANGE_BY_NAME, 0);
    two_requests();
    finish();
    const struct range_row *row = find(RANGE_TRACK, "request");
    CHECK_INT(row->count, 3);
    CHECK_INT(row->total_ns - row->nested_ns, 300);
    end();
}
