/* SPDX-License-Identifier: MIT */
/* Samples have their paths and, after a merge, are in order of time, while another pass reads the
 * events of the same reader. */
#include "pass.h"
#include "pass_state.h"
#include "reader.h"
#include "test.h"
#include "trace_maker.h"
#include "writer.h"

#include <stdio.h>

enum { THREADS = 3, ROUNDS = 3000 };

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/samples.annot", test_directory());
    return path;
}

static void write_file(struct maker *maker)
{
    const struct store_writer_options options = {.overwrite = true};
    struct store_writer *writer;
    struct event_batch batch;
    const struct sample *samples;
    uint32_t count;
    CHECK_INT(store_writer_create(file_path(), maker_trace(maker), &options, &writer), 0);
    while (maker_next(maker, &batch) == 1) {
        CHECK_INT(store_writer_add(writer, &batch), 0);
        CHECK_INT(store_writer_flush(writer), 0);
    }
    while (maker_next_samples(maker, &samples, &count) == 1) {
        CHECK_INT(store_writer_add_samples(writer, samples, count), 0);
        CHECK_INT(store_writer_flush(writer), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
}

static void add_sample(struct maker *maker, uint32_t thread, int64_t time)
{
    maker_sample(maker,
                 &(struct sample){
                     .set = SAMPLE_SET_CPU, .thread = thread, .time_ns = time, SAMPLE_VALUES(10)});
}

/* Each thread has a range in the first half of each ten microseconds; samples fall into both
 * halves, also just before the next range, and arrive a few places out of order. A child of the
 * first thread is forked inside of its range; clocks differ, so one of its samples appears to be
 * earlier. */
static struct maker *make_scene(void)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 10, 1, "program", 0);
    uint32_t child = maker_process(maker, 20, 10, "program", 1200);
    uint32_t threads[THREADS];
    for (int32_t i = 0; i < THREADS; i++)
        threads[i] = maker_thread(maker, process, 10 + i, "thread");
    uint32_t heir = maker_thread(maker, child, 20, "main");
    for (int32_t round = 0; round < ROUNDS; round++) {
        for (int32_t i = 0; i < THREADS; i++) {
            maker_push(maker, threads[i], round * 10000 + i, i == 0 ? "load" : "parse");
            maker_pop(maker, threads[i], round * 10000 + 5000 + i);
        }
        for (int32_t i = THREADS; i-- > 0;) {
            add_sample(maker, threads[i], round * 10000 + 2500 + i + (round % 2 ? 5000 : 0));
            add_sample(maker, threads[i], round * 10000 + 9000 + i);
        }
        if (round == 1)
            add_sample(maker, heir, 15000);
    }
    maker_mark(maker, heir, 50000, "alive");
    add_sample(maker, heir, 60000);
    struct trace_process *entry = trace_process(maker_trace(maker), child);
    entry->forked = true;
    entry->ns_pid = 20;
    entry->fork_ns = MAKER_BEGIN_NS + 20001;
    entry->fork_thread = threads[0] + 1;
    maker_finish(maker, ROUNDS * INT64_C(10000) + 1);
    return maker;
}

struct seen {
    const struct trace *trace;
    int64_t last_ns;
    unsigned samples, events, wrong_paths, disordered, inherited;
};

static void check_path(struct seen *seen, const struct sample *sample)
{
    const struct stacks *stacks = trace_stacks_get(seen->trace);
    const struct range_path *path = stacks_get_path(stacks, sample->path);
    const char *name = trace_string(seen->trace, path->name)->bytes;
    int64_t at_ns = (sample->time_ns - MAKER_BEGIN_NS) % 10000;
    bool heir = sample->thread == THREADS;
    seen->inherited += heir && path->kind == RANGE_PATH_INHERITED && strcmp(name, "load") == 0;
    const char *wanted = at_ns >= 5000 ? "" : sample->thread == 0 ? "load" : "parse";
    seen->wrong_paths += !heir && strcmp(name, wanted) != 0;
}

static int take(void *context, const struct item *item)
{
    struct seen *seen = context;
    int64_t time_ns = item->kind == ITEM_SPAN ? item->end_ns : item->begin_ns;
    seen->disordered += time_ns < seen->last_ns;
    seen->last_ns = time_ns;
    seen->samples += item->kind == ITEM_SAMPLE;
    seen->events += item->kind != ITEM_SAMPLE;
    if (item->kind == ITEM_SAMPLE)
        check_path(seen, item->sample);
    return 0;
}

struct both {
    struct pass_source events;
    struct sample_feed *feed;
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    const struct both *both = context;
    return both->events.next_events(both->events.context, ret_batch);
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    const struct both *both = context;
    return sample_feed_next(both->feed, ret_batch);
}

static struct seen read_both(const struct pass_selection *selection)
{
    struct store_reader *reader, *again;
    struct both both;
    struct maker *maker = make_scene();
    write_file(maker);
    maker_destroy(maker);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    struct seen seen = {.trace = store_reader_trace(reader), .last_ns = INT64_MIN};
    CHECK_INT(store_reader_again(reader, &again), 0);
    const struct pass_source stored = recording_pass_source(reader);
    both.events = recording_pass_source(again);
    both.feed = sample_feed_create(&stored, selection);
    CHECK(both.feed != NULL);
    const struct pass_source source = {.trace = stored.trace,
                                       .next_events = next_events,
                                       .next_samples = next_samples,
                                       .context = &both};
    const struct sink sink = {take, &seen,
                              WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_TIME_ORDER};
    struct pass *pass = pass_create(&source, selection, &sink, 1);
    CHECK(pass != NULL);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->late, 0);
    pass_destroy(pass);
    sample_feed_destroy(both.feed);
    store_reader_close(again);
    store_reader_close(reader);
    return seen;
}

TEST(samples_have_the_ranges_of_their_instant_and_come_in_order_between_the_events)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    struct seen seen = read_both(&all);
    CHECK_INT(seen.samples, 2 * THREADS * ROUNDS + 2);
    CHECK_INT(seen.events, 2 * THREADS * ROUNDS + 1);
    CHECK_INT(seen.wrong_paths, 0);
    CHECK_INT(seen.disordered, 0);
    CHECK_INT(seen.inherited, 2);
}

TEST(of_a_range_only_its_samples_come)
{
    struct pass_selection selection = PASS_SELECT_ALL;
    selection.range = "parse";
    struct seen seen = read_both(&selection);
    CHECK_INT(seen.samples, (THREADS - 1) * ROUNDS / 2);
    CHECK_INT(seen.wrong_paths, 0);
    CHECK_INT(seen.disordered, 0);
}

TEST(batches_say_what_is_settled_and_keep_to_it)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    struct maker *maker = make_scene();
    struct store_reader *reader;
    struct sample_feed *feed;
    struct sample_batch batch;
    int64_t settled_ns = INT64_MIN;
    unsigned early = 0, known = 0;
    write_file(maker);
    maker_destroy(maker);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    const struct pass_source stored = recording_pass_source(reader);
    feed = sample_feed_create(&stored, &all);
    CHECK(feed != NULL);
    while (sample_feed_next(feed, &batch) == 1) {
        for (uint32_t i = 0; i < batch.count; i++)
            early += batch.samples[i].time_ns < settled_ns;
        known += batch.settled_ns > MAKER_BEGIN_NS;
        settled_ns = batch.settled_ns > settled_ns ? batch.settled_ns : settled_ns;
    }
    CHECK_INT(early, 0);
    CHECK(known > 10);
    sample_feed_destroy(feed);
    store_reader_close(reader);
}

TEST(a_second_place_has_all_events_wherever_the_first_stands)
{
    struct maker *maker = make_scene();
    struct store_reader *first, *second;
    struct event_batch batch;
    size_t whole = 0, before = 0, rest = 0;
    write_file(maker);
    maker_destroy(maker);
    CHECK_INT(store_reader_open(file_path(), &first), 0);
    for (int i = 0; i < 100 && store_reader_next(first, &batch) == 1; i++)
        before += batch.count;
    CHECK_INT(store_reader_again(first, &second), 0);
    CHECK(store_reader_trace(second) == store_reader_trace(first));
    while (store_reader_next(second, &batch) == 1)
        whole += batch.count;
    while (store_reader_next(first, &batch) == 1)
        rest += batch.count;
    CHECK(before > 0 && rest > 0);
    CHECK_INT(whole, before + rest);
    CHECK_INT(whole, 2 * THREADS * ROUNDS + 1);
    store_reader_close(second);
    store_reader_close(first);
}

/* A thread without events; another thread's marks precede and follow its samples. */
static struct maker *make_quiet(bool mark_behind)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 10, 1, "program", 0);
    uint32_t loud = maker_thread(maker, process, 10, "loud");
    uint32_t quiet = maker_thread(maker, process, 11, "quiet");
    trace_thread(maker_trace(maker), quiet)->serial = 0; /* it never emits events */
    maker_mark(maker, loud, 5, "begin");
    for (int32_t i = 0; i < ROUNDS; i++)
        add_sample(maker, quiet, 10 + i * INT64_C(1000));
    if (mark_behind)
        maker_mark(maker, loud, ROUNDS * INT64_C(1000) + 20, "end");
    maker_finish(maker, ROUNDS * INT64_C(1000) + 30);
    return maker;
}

/* Counts the samples of the recording per chunk and per call of the feed. */
static void count_both(uint32_t *ret_in_chunk, uint32_t *ret_at_once, uint32_t *ret_all)
{
    struct store_reader *reader;
    const struct sample *samples;
    struct sample_batch batch;
    uint32_t count;
    *ret_in_chunk = *ret_at_once = *ret_all = 0;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    while (store_reader_next_samples(reader, &samples, &count) == 1)
        *ret_in_chunk = count > *ret_in_chunk ? count : *ret_in_chunk;
    CHECK_INT(store_reader_rewind(reader), 0);
    const struct pass_source stored = recording_pass_source(reader);
    const struct pass_selection all = PASS_SELECT_ALL;
    struct sample_feed *feed = sample_feed_create(&stored, &all);
    CHECK(feed != NULL);
    while (sample_feed_next(feed, &batch) == 1) {
        *ret_at_once = batch.count > *ret_at_once ? batch.count : *ret_at_once;
        *ret_all += batch.count;
    }
    sample_feed_destroy(feed);
    store_reader_close(reader);
}

TEST(where_no_events_come_samples_come_a_few_at_a_time)
{
    for (int mark_behind = 0; mark_behind < 2; mark_behind++) {
        struct maker *maker = make_quiet(mark_behind);
        uint32_t in_chunk, at_once, all;
        write_file(maker);
        maker_destroy(maker);
        count_both(&in_chunk, &at_once, &all);
        CHECK_INT(all, ROUNDS);
        CHECK(in_chunk < ROUNDS / 2);
        CHECK(at_once <= in_chunk);
    }
}
