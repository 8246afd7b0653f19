/* SPDX-License-Identifier: MIT */
/* Each sample comes with the ranges that were open, read or found out, and filters keep what they
 * say. */
#include "sample_walk.h"
#include "test.h"
#include "trace_maker.h"

#include <errno.h>
#include <stdio.h>

static struct maker *maker;

static struct sample_source source_of(void)
{
    return (struct sample_source){maker_trace(maker), maker_next, maker_next_samples, maker_rewind,
                                  maker};
}

static void add_sample(uint32_t thread, int64_t time, enum sample_kind kind)
{
    maker_sample(maker, &(struct sample){.kind = (uint8_t)kind,
                                         .thread = thread,
                                         .time_ns = time,
                                         .end_ns = kind == SAMPLE_OFF_CPU ? time + 5 : 0,
                                         .weight_ns = 10});
}

/* "load/parse", "" outside; two more bytes for the text of an unknown path. */
static const char *path_text(uint32_t path)
{
    static char text[256];
    uint32_t names[16];
    const struct trace *trace = maker_trace(maker);
    uint32_t depth = stacks_names(trace_stacks_get(trace), path, names, 16);
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < depth; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i ? "/" : "",
                                   trace_string(trace, names[i])->bytes);
    return text;
}

/* Walks, and joins times and paths: "15:load 25:load/parse". */
static const char *walked(const struct sample_filter *filter)
{
    static char text[1024];
    const struct sample_source source = source_of();
    const struct sample *sample;
    struct sample_walk *walk;
    size_t length = 0;
    int status;
    text[0] = 0;
    CHECK_INT(sample_walk_create(&source, filter, &walk), 0);
    while ((status = sample_walk_next(walk, &sample)) == 1) {
        CHECK(sample->flags & SAMPLE_PATH_KNOWN);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%lld:%s",
                                   length ? " " : "", (long long)(sample->time_ns - MAKER_BEGIN_NS),
                                   path_text(sample->path));
    }
    CHECK_INT(status, 0);
    CHECK_INT(sample_walk_unresolved(walk), 0);
    sample_walk_destroy(walk);
    return text;
}

static uint32_t begin(void)
{
    maker = maker_create();
    return maker_thread(maker, maker_process(maker, 100, -1, "python a.py", 0), 100, "main");
}

TEST(paths_follow_from_the_events_of_the_thread)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 20, "parse");
    maker_pop(maker, thread, 30);
    maker_mark(maker, thread, 33, "here");
    maker_pop(maker, thread, 40);
    maker_push(maker, thread, 50, "train");
    for (int64_t time = 55; time > 0; time -= 10) /* in any order */
        add_sample(thread, time, SAMPLE_CPU);
    maker_finish(maker, 60);
    CHECK_STR(walked(&(struct sample_filter){0}), "55:train 45: 35:load 25:load/parse 15:load 5:");
    maker_destroy(maker);
}

TEST(a_path_that_was_read_wins)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_sample(maker, &(struct sample){.kind = SAMPLE_CPU,
                                         .thread = thread,
                                         .time_ns = 15,
                                         .path = maker_path(maker, 0, "dropped"),
                                         .flags = SAMPLE_PATH_KNOWN});
    add_sample(thread, 16, SAMPLE_CPU);
    maker_finish(maker, 60);
    CHECK_STR(walked(&(struct sample_filter){0}), "15:dropped 16:load");
    maker_destroy(maker);
}

TEST(gaps_and_edges_close_what_they_close)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "load");
    maker_push(maker, thread, 20, "parse");
    maker_lost(maker, thread, &(struct maker_gap){30, 40, 5, 1, LOSS_POOL_FULL});
    maker_push(maker, thread, 50, "after");
    maker_event(maker, &(struct event){.kind = EVENT_EDGE, .thread = thread, .time_ns = 60});
    for (int64_t time = 25; time < 70; time += 10)
        add_sample(thread, time, SAMPLE_CPU);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}),
              "25:load/parse 35:load 45:load 55:load/after 65:");
    maker_destroy(maker);
}

TEST(threads_do_not_mix_and_those_without_events_have_no_path)
{
    uint32_t first = begin();
    uint32_t second = maker_thread(maker, 0, 101, "worker");
    uint32_t sampled = maker_thread(maker, 0, 102, "native");
    trace_thread(maker_trace(maker), sampled)->serial = 0;
    maker_push(maker, first, 10, "a");
    maker_push(maker, second, 12, "b");
    add_sample(second, 15, SAMPLE_CPU);
    add_sample(first, 15, SAMPLE_CPU);
    add_sample(sampled, 15, SAMPLE_CPU);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}), "15:b 15:a 15:");
    maker_destroy(maker);
}

TEST(filters_keep_what_they_say)
{
    uint32_t first = begin();
    uint32_t other = maker_thread(maker, maker_process(maker, 200, 0, "b", 0), 200, "main");
    maker_push(maker, first, 10, "load");
    maker_push(maker, first, 20, "parse");
    maker_push(maker, other, 10, "loading");
    add_sample(first, 5, SAMPLE_CPU);
    add_sample(first, 15, SAMPLE_CPU);
    add_sample(first, 25, SAMPLE_OFF_CPU);
    add_sample(other, 26, SAMPLE_CPU);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){.kind = SAMPLE_OFF_CPU}), "25:load/parse");
    CHECK_STR(walked(&(struct sample_filter){.process = 2}), "26:loading");
    CHECK_STR(walked(&(struct sample_filter){.thread = first + 1, .kind = SAMPLE_CPU}),
              "5: 15:load");
    CHECK_STR(walked(&(struct sample_filter){.range = "oad"}), "15:load 25:load/parse 26:loading");
    CHECK_STR(walked(&(struct sample_filter){.range = "load", .exact = true}),
              "15:load 25:load/parse");
    CHECK_STR(walked(&(struct sample_filter){.range = "parse", .kind = SAMPLE_CPU}), "");
    maker_destroy(maker);
}

static void add_known(uint32_t thread, int64_t time, uint32_t path, unsigned more_flags)
{
    maker_sample(maker, &(struct sample){.kind = SAMPLE_CPU,
                                         .thread = thread,
                                         .time_ns = time,
                                         .path = path,
                                         .flags = (uint8_t)(SAMPLE_PATH_KNOWN | more_flags)});
}

TEST(ranges_of_a_forked_child_begin_where_its_own_do)
{
    begin();
    uint32_t process = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t child = maker_thread(maker, process, 200, "main");
    trace_process(maker_trace(maker), process)->forked = true;
    uint32_t main_path = maker_path(maker, 0, "main");
    uint32_t job = maker_path(maker, main_path, "job");
    maker_push(maker, child, 20, "job");
    maker_pop(maker, child, 40);
    add_known(child, 10, main_path, 0); /* inherited */
    add_known(child, 30, job, 0);
    add_known(child, 35, maker_path(maker, job, "dropped"), 0);
    add_known(child, 50, main_path, 0);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}), "10:main 30:job 35:main/job/dropped 50:main");
    maker_destroy(maker);
}

TEST(a_forked_child_without_events_has_what_its_parent_had_open)
{
    uint32_t thread = begin();
    struct trace *trace = maker_trace(maker);
    uint32_t child = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t grandchild = maker_process(maker, 300, (int32_t)child, "python a.py", 0);
    uint32_t first = maker_thread(maker, child, 200, "main");
    uint32_t second = maker_thread(maker, grandchild, 300, "main");
    uint32_t worker = maker_thread(maker, grandchild, 301, "started later");
    *trace_process(trace, child) = (struct trace_process){
        .forked = true, .ns_pid = 200, .fork_ns = MAKER_BEGIN_NS + 25, .fork_thread = thread + 1};
    *trace_process(trace, grandchild) = (struct trace_process){
        .forked = true, .ns_pid = 300, .fork_ns = MAKER_BEGIN_NS + 35, .fork_thread = first + 1};
    maker_push(maker, thread, 10, "main");
    maker_push(maker, thread, 20, "pool");
    maker_pop(maker, thread, 30);
    maker_push(maker, first, 50, "own");
    maker_pop(maker, first, 60);
    add_sample(first, 40, SAMPLE_CPU);
    add_sample(first, 55, SAMPLE_CPU);
    add_sample(second, 56, SAMPLE_CPU);
    add_sample(worker, 57, SAMPLE_CPU);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}), "40:main/pool 55:own 56:main/pool 57:");
    maker_destroy(maker);
}

TEST(a_cut_path_is_completed_by_the_events)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 10, "outer");
    maker_push(maker, thread, 20, "inner");
    add_known(thread, 30, maker_path(maker, 0, "inner"), SAMPLE_PATH_CUT);
    add_known(thread, 5, maker_path(maker, 0, "lost"), SAMPLE_PATH_CUT);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}), "30:outer/inner 5:lost");
    maker_destroy(maker);
}

/* What the thread has open follows from its events; the ranges of tasks only a sample knows. */
TEST(ranges_of_tracks_stay_where_they_were_read)
{
    uint32_t thread = begin();
    uint32_t process = maker_process(maker, 200, 0, "python a.py", 0);
    uint32_t child = maker_thread(maker, process, 200, "main");
    trace_process(maker_trace(maker), process)->forked = true;
    uint32_t task = maker_path_of_kind(maker, 0, "task", RANGE_PATH_TRACK);
    uint32_t fetch = maker_path_of_kind(maker, task, "fetch", RANGE_PATH_INSIDE);
    maker_push(maker, thread, 10, "outer");
    maker_push(maker, thread, 20, "inner");
    add_known(thread, 30, maker_path(maker, fetch, "inner"), SAMPLE_PATH_CUT);
    add_known(thread, 31, maker_path(maker, fetch, "other"), SAMPLE_PATH_CUT);
    add_known(thread, 32, fetch, SAMPLE_PATH_CUT);
    /* Its parent forked it inside of a task; then it runs one of its own. */
    uint32_t forked = maker_path_of_kind(maker, maker_path(maker, 0, "main"), "forker", 1);
    uint32_t job = maker_path(maker, forked, "job");
    maker_push(maker, child, 20, "job");
    maker_pop(maker, child, 40);
    add_known(child, 33, maker_path_of_kind(maker, job, "own task", RANGE_PATH_TRACK), 0);
    add_known(child, 50, forked, 0);
    maker_finish(maker, 80);
    CHECK_STR(walked(&(struct sample_filter){0}),
              "30:outer/task/fetch/inner 31:outer/inner 32:outer/inner/task/fetch "
              "33:job/own task 50:main/forker");
    maker_destroy(maker);
}

static int fail_to_read(void *context, const struct sample **ret_samples, uint32_t *ret_count)
{
    (void)context, (void)ret_samples, (void)ret_count;
    return -EIO;
}

TEST(an_error_of_the_source_is_passed_on)
{
    begin();
    struct sample_source source = source_of();
    struct sample_walk *walk;
    source.next_samples = fail_to_read;
    CHECK_INT(sample_walk_create(&source, &(struct sample_filter){0}, &walk), -EIO);
    maker_destroy(maker);
}
