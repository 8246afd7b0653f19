/* SPDX-License-Identifier: MIT */
/* The lines of annot cat and annot tail, and their order. */
#include "line.h"
#include "line_reader.h"
#include "test.h"
#include "trace_maker.h"

#include <errno.h>
#include <stdio.h>

static struct maker *maker;
static char told[4096];
static size_t told_size;

static uint32_t start_trace(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 10, 1, "program", -100);
    told_size = 0;
    told[0] = '\0';
    return maker_thread(maker, process, 10, "main");
}

/* "10 begin load; 20 end load unfinished; " */
static int put(void *context, const struct line *line)
{
    const struct trace *trace = maker_trace(maker);
    (void)context;
    bool named = line->event && line->event->name;
    told_size += (size_t)snprintf(
        told + told_size, sizeof(told) - told_size, "%lld %s%s%s%s%s; ",
        (long long)(line->time_ns - MAKER_BEGIN_NS), line_kind_name(line->kind), named ? " " : "",
        named ? trace_string(trace, line->event->name)->bytes : "",
        line->span && line->span->flags & ITEM_UNFINISHED ? " unfinished" : "",
        line->late ? " late" : "");
    return 0;
}

static struct line_reader_options all_lines(bool complete)
{
    return (struct line_reader_options){
        .source = {.trace = maker_trace(maker), .next_events = maker_next, .context = maker},
        .selection = PASS_SELECT_ALL,
        .sink = {.trace = maker_trace(maker), .complete = complete, .put = put},
    };
}

static const char *read_all(const struct line_reader_options *options)
{
    struct line_reader *reader;
    CHECK_INT(line_reader_create(options, &reader), 0);
    CHECK_INT(line_reader_finish(reader), 0);
    CHECK_INT(line_reader_late_count(reader), 0);
    line_reader_destroy(reader);
    return told;
}

static const char *lines(bool complete)
{
    const struct line_reader_options options = all_lines(complete);
    told_size = 0;
    return read_all(&options);
}

static uint64_t numbers[8];
static unsigned number_count;

static int put_number(void *context, const struct line *line)
{
    (void)context;
    if (line->kind <= LINE_RANGE)
        numbers[number_count++] = line->number;
    return 0;
}

TEST(a_begin_and_its_end_have_the_number_that_logs_have)
{
    uint32_t thread = start_trace();
    maker_push(maker, thread, 10, "outer");
    maker_push(maker, thread, 20, "inner");
    maker_pop(maker, thread, 30);
    maker_pop(maker, thread, 40);
    maker_finish(maker, 100);
    struct line_reader_options options = all_lines(false);
    options.sink.put = put_number;
    read_all(&options);
    CHECK_INT(number_count, 4);
    CHECK(numbers[0] != 0 && numbers[1] != 0 && numbers[0] != numbers[1]);
    CHECK(numbers[2] == numbers[1] && numbers[3] == numbers[0]);
    maker_destroy(maker);
}

TEST(events_of_all_threads_come_in_order_of_time_between_the_begins_and_ends_of_their_threads)
{
    uint32_t first = start_trace();
    uint32_t second = maker_thread(maker, 0, 11, "worker");
    maker_push(maker, first, 10, "load");
    maker_pop(maker, first, 40);
    maker_mark(maker, second, 10, "ready");
    maker_start(maker, second, 20, "request", 7);
    maker_end(maker, second, 50, 7);
    maker_finish(maker, 100);
    CHECK_STR(lines(false), "-100 process_start; 10 thread_start; 10 thread_start; 10 begin load; "
                            "10 mark ready; 20 begin request; 40 end load; 40 thread_end; "
                            "50 end request; 50 thread_end; ");
    CHECK_STR(lines(true), "-100 process_start; 10 thread_start; 10 thread_start; 10 mark ready; "
                           "10 range load; 40 thread_end; 20 range request; 50 thread_end; ");
    maker_destroy(maker);
}

TEST(that_recording_was_off_is_told_behind_the_ranges_that_it_ended)
{
    uint32_t thread = start_trace();
    maker_push(maker, thread, 10, "load");
    maker_event(maker, &(struct event){.kind = EVENT_EDGE, .thread = thread, .time_ns = 30});
    maker_finish(maker, 100);
    CHECK_STR(lines(false), "-100 process_start; 10 thread_start; 10 begin load; "
                            "30 end load unfinished; 30 off_on; 30 thread_end; ");
    maker_destroy(maker);
}

TEST(an_end_that_another_thread_told_before_the_start_is_one_line)
{
    uint32_t first = start_trace();
    uint32_t second = maker_thread(maker, 0, 11, "worker");
    maker_end(maker, second, 20, 7);
    maker_start(maker, first, 21, "request", 7);
    maker_finish(maker, 100);
    CHECK_STR(lines(false), "-100 process_start; 20 thread_start; 20 end; 20 thread_end; "
                            "21 thread_start; 21 begin request; 21 thread_end; ");
    CHECK_STR(lines(true), "-100 process_start; 20 thread_start; 20 thread_end; 21 thread_start; "
                           "21 range request; 21 thread_end; ");
    maker_destroy(maker);
}

TEST(what_a_process_left_open_ends_with_it_before_what_others_do_later)
{
    uint32_t first = start_trace();
    uint32_t process = maker_process(maker, 12, 10, "child", 0);
    uint32_t second = maker_thread(maker, process, 12, "main");
    maker_push(maker, second, 5, "job");
    maker_mark(maker, first, 60, "later");
    struct trace_process *entry = trace_process(maker_trace(maker), process);
    entry->end = PROCESS_SIGNALED;
    entry->end_ns = MAKER_BEGIN_NS + 50;
    maker_finish(maker, 100);
    CHECK_STR(lines(false), "-100 process_start; 0 process_start; 5 thread_start; 5 begin job; "
                            "5 thread_end; 50 end job unfinished; 50 process_end; "
                            "60 thread_start; 60 mark later; 60 thread_end; ");
    maker_destroy(maker);
}

TEST(a_process_that_ended_before_the_selection_begins_has_nothing_in_it)
{
    uint32_t first = start_trace();
    uint32_t process = maker_process(maker, 12, 10, "child", 0);
    uint32_t second = maker_thread(maker, process, 12, "main");
    maker_push(maker, second, 5, "job");
    maker_push(maker, first, 10, "whole");
    maker_pop(maker, first, 80);
    struct trace_process *entry = trace_process(maker_trace(maker), process);
    entry->end = PROCESS_EXEC;
    entry->end_ns = MAKER_BEGIN_NS + 50;
    maker_finish(maker, 100);
    struct line_reader_options options = all_lines(false);
    options.selection.from_ns = MAKER_BEGIN_NS + 60;
    CHECK_STR(read_all(&options), "60 begin whole; 80 end whole; 80 thread_end; ");
    maker_destroy(maker);
}

/* All events once, then an empty source. */
static int next_once(void *context, struct event_batch *ret_batch)
{
    bool *ended = context;
    *ended = *ended || maker_next(maker, ret_batch) == 0;
    return !*ended;
}

TEST(a_live_source_tells_what_is_settled_then_the_rest)
{
    uint32_t thread = start_trace();
    maker_push(maker, thread, 10, "load");
    maker_mark(maker, thread, 30, "half");
    maker_process(maker, 12, 10, "child", 40);
    maker_finish(maker, 100);
    struct line_reader_options options = all_lines(false);
    struct line_reader *reader;
    bool ended = false;
    options.source.live = true;
    options.source.next_events = next_once;
    options.source.context = &ended;
    CHECK_INT(line_reader_create(&options, &reader), 0);
    CHECK_INT(line_reader_run(reader, MAKER_BEGIN_NS + 10), 0);
    CHECK_STR(told, "-100 process_start; 10 thread_start; ");
    CHECK_INT(line_reader_run(reader, MAKER_BEGIN_NS + 11), 0);
    CHECK_STR(told, "-100 process_start; 10 thread_start; 10 begin load; ");
    told_size = 0;
    CHECK_INT(line_reader_finish(reader), 0);
    CHECK_STR(told, "30 mark half; 30 thread_end; 40 process_start; 100 end load unfinished; ");
    line_reader_destroy(reader);
    maker_destroy(maker);
}

static int refuse(void *context, const struct line *line)
{
    (void)context;
    return line->kind == LINE_MARK ? -EPIPE : 0;
}

/* A batch at each of the first two reads. */
static int next_of_a_look(void *context, struct event_batch *ret_batch)
{
    unsigned *calls = context;
    unsigned call = (*calls)++;
    return call % 2 == 0 && call < 4 ? maker_next(maker, ret_batch) : 0;
}

TEST(what_comes_later_than_it_was_waited_for_is_told_late_and_marked)
{
    uint32_t first = start_trace(), second = maker_thread(maker, 0, 11, "driver");
    maker_mark(maker, first, 10, "a");
    maker_mark(maker, first, 40, "b");
    maker_mark(maker, second, 20, "c");
    maker_mark(maker, second, 50, "d");
    maker_finish(maker, 100);
    struct line_reader_options options = all_lines(false);
    struct line_reader *reader;
    unsigned calls = 0;
    options.source.live = true;
    options.source.next_events = next_of_a_look;
    options.source.context = &calls;
    CHECK_INT(line_reader_create(&options, &reader), 0);
    CHECK_INT(line_reader_run(reader, MAKER_BEGIN_NS + 60), 0);
    CHECK_STR(told, "-100 process_start; 10 thread_start; 10 mark a; 20 thread_start; 40 mark b; "
                    "20 mark c late; 50 mark d; ");
    CHECK_INT(line_reader_late_count(reader), 1);
    told_size = 0;
    maker_process(maker, 12, 10, "child", 30);
    CHECK_INT(line_reader_run(reader, MAKER_BEGIN_NS + 60), 0);
    CHECK_STR(told, "30 process_start late; ");
    told_size = 0;
    CHECK_INT(line_reader_finish(reader), 0);
    CHECK_STR(told, "40 thread_end late; 50 thread_end; ");
    CHECK_INT(line_reader_late_count(reader), 3);
    line_reader_destroy(reader);
    maker_destroy(maker);
}

TEST(what_the_taker_of_lines_returns_ends_the_reading)
{
    uint32_t thread = start_trace();
    struct line_reader *reader;
    maker_mark(maker, thread, 10, "first");
    maker_finish(maker, 100);
    struct line_reader_options options = all_lines(false);
    options.sink.put = refuse;
    CHECK_INT(line_reader_create(&options, &reader), 0);
    CHECK_INT(line_reader_finish(reader), -EPIPE);
    line_reader_destroy(reader);
    maker_destroy(maker);
}
