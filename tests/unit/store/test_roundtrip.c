/* SPDX-License-Identifier: MIT */
/* What is written is read: any events, any definitions, resumed or in one go. */
#include "sample_events.h"
#include "store.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROCESSES = 3, THREADS = 4, STRINGS = 40, BATCH_MAX = 700 };

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/sample.annot", test_directory());
    return path;
}

/* Writes `batches` random batches; reading them again with the same seed gives the same events. */
struct script {
    struct event events[BATCH_MAX];
    struct sample_source source;
    uint32_t sequence;
};

static struct event_batch next_batch(struct script *script)
{
    uint32_t thread = (uint32_t)(sample_random(&script->source.random) % (PROCESSES * THREADS));
    uint32_t count = (uint32_t)(sample_random(&script->source.random) % BATCH_MAX);
    sample_events(&script->source, thread, script->events, count);
    script->sequence++;
    return (struct event_batch){thread,
                                count,
                                script->events,
                                {script->sequence, 16 * script->sequence, 32 * script->sequence},
                                0};
}

/* What a batch says of later ones holds. */
static void check_settled(const struct event_batch *batch, int64_t *settled_ns)
{
    for (uint32_t e = 0; e < batch->count; e++)
        CHECK(batch->events[e].time_ns >= *settled_ns);
    CHECK(batch->settled_ns >= *settled_ns);
    *settled_ns = batch->settled_ns;
}

static void check_batches(struct store_reader *reader, struct script *script, int batches)
{
    struct event_batch actual;
    int64_t settled_ns = 0;
    for (int i = 0; i < batches; i++) {
        struct event_batch expected = next_batch(script);
        CHECK_INT(store_reader_next(reader, &actual), 1);
        CHECK_INT(actual.thread, expected.thread);
        CHECK_INT(actual.count, expected.count);
        CHECK(memcmp(&actual.source, &expected.source, sizeof(actual.source)) == 0);
        for (uint32_t e = 0; e < actual.count; e++)
            sample_check_event(&actual.events[e], &expected.events[e]);
        check_settled(&actual, &settled_ns);
    }
    CHECK(batches < 100 || settled_ns > 1000000000); /* there are several chunks */
    CHECK_INT(store_reader_next(reader, &actual), 0);
}

TEST(random_events_come_back_exactly)
{
    enum { BATCHES = 900 };
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_reader *reader;
    struct store_info info;
    static struct script script;
    CHECK_INT(store_writer_create(file_path(), trace, &(struct store_writer_options){0}, &writer),
              0);
    script = (struct script){.source = {.strings = STRINGS, .random = 42}};
    for (int i = 0; i < BATCHES; i++) {
        struct event_batch batch = next_batch(&script);
        CHECK_INT(store_writer_add(writer, &batch), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    sample_check_trace(store_reader_trace(reader), trace);
    for (int pass = 0; pass < 2; pass++) {
        script = (struct script){.source = {.strings = STRINGS, .random = 42}};
        check_batches(reader, &script, BATCHES);
        CHECK_INT(store_reader_rewind(reader), 0);
    }
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_info(reader, &info);
    CHECK(info.complete && info.chunk_count > 3);
    store_reader_close(reader);
    trace_destroy(trace);
}

TEST(resumed_recording_reads_as_one)
{
    enum { BATCHES = 60, FIRST = 25 };
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_reader *reader;
    static struct script script;
    script = (struct script){.source = {.strings = STRINGS, .random = 7}};
    CHECK_INT(store_writer_create(file_path(), trace, &(struct store_writer_options){0}, &writer),
              0);
    for (int i = 0; i < FIRST; i++) {
        struct event_batch batch = next_batch(&script);
        CHECK_INT(store_writer_add(writer, &batch), 0);
    }
    CHECK_INT(store_writer_flush(writer), 0);
    CHECK_INT(store_writer_pending_bytes(writer), 0);
    store_writer_abandon(writer);
    CHECK_INT(truncate(file_path(), 8 << 20), 0); /* zeros behind the last whole chunk */

    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    CHECK_INT(store_writer_resume(file_path(), store_reader_trace(reader), &writer), 0);
    trace_process(store_reader_trace(reader), 0)->end = PROCESS_EXITED;
    for (int i = FIRST; i < BATCHES; i++) {
        struct event_batch batch = next_batch(&script);
        CHECK_INT(store_writer_add(writer, &batch), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    store_reader_close(reader);

    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    script = (struct script){.source = {.strings = STRINGS, .random = 7}};
    check_batches(reader, &script, BATCHES);
    CHECK_INT(store_reader_damage_count(reader), 0);
    CHECK_INT(trace_process_get(store_reader_trace(reader), 0)->end, PROCESS_EXITED);
    store_reader_close(reader);
    trace_destroy(trace);
}

/* Also a batch that is too large for one stays whole between an event and its key-values. */
TEST(large_batches_are_not_cut_between_an_event_and_its_key_values)
{
    enum { EACH = 7, EVENTS = 10001 * EACH };
    static struct event events[EVENTS];
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_reader *reader;
    struct event_batch batch = {.events = events, .count = EVENTS};
    uint32_t count = 0, batches = 0;
    for (uint32_t i = 0; i < EVENTS; i++)
        events[i] = (struct event){.kind = i % EACH ? EVENT_PAYLOAD : EVENT_MARK,
                                   .time_ns = i / EACH,
                                   .value_kind = VALUE_UINT64,
                                   .value.uint64 = i};
    CHECK_INT(store_writer_create(file_path(), trace, &(struct store_writer_options){0}, &writer),
              0);
    CHECK_INT(store_writer_add(writer, &batch), 0);
    CHECK_INT(store_writer_close(writer), 0);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    for (; store_reader_next(reader, &batch) == 1; batches++) {
        CHECK_INT(batch.events[0].kind, EVENT_MARK);
        for (uint32_t i = 0; i < batch.count; i++)
            CHECK_INT(batch.events[i].value.uint64, count++);
    }
    CHECK_INT(count, EVENTS);
    CHECK(batches > 2);
    store_reader_close(reader);
    trace_destroy(trace);
}
