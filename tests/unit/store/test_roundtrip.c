/* SPDX-License-Identifier: MIT */
/* Written data is read back: any events, any definitions, resumed or in one go. */
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

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

/* Makes random batches; the same seed gives the same events when reading. */
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
                                0,
                                sample_args,
                                0,
                                0};
}

/* Later events respect a batch's settled time. */
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
            sample_check_event(&actual, e, &expected.events[e]);
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
    CHECK_INT(truncate(file_path(), 8 << 20), 0); /* zeros after the last complete chunk */

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

/* Batches too large for one chunk, of few events with very many key-values or of many with few, and
 * more shapes of key-values than a chunk keeps. */
static void check_large(uint32_t event_count, uint32_t each)
{
    static struct event events[70000];
    static struct arg args[200000];
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_reader *reader;
    struct event_batch batch = {.events = events, .count = event_count, .args = args};
    uint32_t count = 0, batches = 0;
    for (uint32_t i = 0; i < event_count * each; i++)
        args[i] = (struct arg){.key = i % 77777, .kind = VALUE_UINT64, .value.uint64 = i};
    for (uint32_t i = 0; i < event_count; i++)
        events[i] = (struct event){
            .kind = EVENT_MARK, .time_ns = i, .args = i * each, .arg_count = (uint16_t)each};
    const struct store_writer_options options = {.overwrite = true};
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    CHECK_INT(store_writer_add(writer, &batch), 0);
    CHECK_INT(store_writer_close(writer), 0);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    for (; store_reader_next(reader, &batch) == 1; batches++)
        for (uint32_t i = 0; i < batch.count; i++) {
            const struct args told = event_args(&batch, &batch.events[i]);
            CHECK_INT(batch.events[i].time_ns, count);
            CHECK_INT(told.count, each);
            for (uint32_t k = 0; k < each; k++) {
                CHECK_INT(told.items[k].key, (count * each + k) % 77777);
                CHECK_INT(told.items[k].value.uint64, count * each + k);
            }
            count++;
        }
    CHECK_INT(count, event_count);
    CHECK(batches > 1);
    store_reader_close(reader);
    trace_destroy(trace);
}

TEST(large_batches_are_cut_between_events)
{
    check_large(70000, 1);
    check_large(3, EVENT_ARGS_MAX);
    check_large(50000, 4);
}
