/* SPDX-License-Identifier: MIT */
/* Spans that one thread reports and other threads caused: each is read back with the thread that
 * caused it, and with the thread of its block. */
#include "reader.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <stdio.h>

#include <string.h>
#include <unistd.h>

enum { THREADS = 4, SPANS = 70000, ARGS = 3 }; /* more than an encoder takes at once */

static struct event span_of(uint32_t number)
{
    return (struct event){.kind = EVENT_SPAN,
                          .thread = number / 3 % THREADS,
                          .time_ns = 1000 + (int64_t)(number * 7919 % SPANS),
                          .end_ns = 2000000 + number,
                          .origin_ns = number % 5 ? 500 + (int64_t)number : EVENT_NO_ORIGIN,
                          .lane = number % 7,
                          .name = 1 + number % 2,
                          .value_kind = number % 11 ? VALUE_NONE : VALUE_UINT64,
                          .value.uint64 = number % 11 ? 0 : number,
                          .args = number % ARGS,
                          .arg_count = number % 4 == 0};
}

static const struct arg args[ARGS] = {
    {1, VALUE_UINT64, {.uint64 = 5}}, {2, VALUE_INT64, {.int64 = -6}}, {1, VALUE_NONE, {0}}};

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    CHECK(trace_string_add(trace, "one", 3) == 1 && trace_string_add(trace, "two", 3) == 2);
    CHECK_INT(trace_process_add(trace), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(trace_thread_add(trace, 0), i);
    CHECK_INT(trace_stream_add(trace, 1), 0);
    return trace;
}

static void write_spans(const char *path, struct trace *trace, uint32_t emitter)
{
    static struct event spans[SPANS];
    const struct store_writer_options options = {.overwrite = true};
    struct event_batch batch = {
        .thread = emitter, .count = SPANS, .events = spans, .source = {9, 100, 200}, .args = args};
    struct store_writer *writer;
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = span_of(i);
    CHECK_INT(store_writer_create(path, trace, &options, &writer), 0);
    CHECK_INT(store_writer_add_late(writer, 0, &batch), 0);
    CHECK_INT(store_writer_close(writer), 0);
}

static void check_span(const struct event_batch *batch, const struct event *span, uint32_t number)
{
    const struct event expected = span_of(number);
    CHECK_INT(span->thread, expected.thread);
    CHECK_INT(batch->thread, expected.thread);
    CHECK(span->time_ns == expected.time_ns && span->end_ns == expected.end_ns);
    CHECK(span->origin_ns == expected.origin_ns && span->lane == expected.lane);
    CHECK(span->value_kind == expected.value_kind && span->value.uint64 == expected.value.uint64 &&
          span->name == expected.name);
    CHECK_INT(span->arg_count, expected.arg_count);
    if (expected.arg_count)
        CHECK(memcmp(event_args(batch, span).items, &args[expected.args], sizeof(*args)) == 0);
}

static void read_spans(const char *path, uint32_t emitter)
{
    struct store_reader *reader;
    struct event_batch batch;
    uint32_t number = 0, whole = 0;
    CHECK_INT(store_reader_open(path, &reader), 0);
    while (store_reader_next(reader, &batch) == 1) {
        CHECK_INT(batch.late, 1);
        CHECK_INT(batch.emitter, emitter);
        CHECK_INT(batch.source.sequence, 9);
        CHECK(batch.source.begin_offset == 100);
        for (uint32_t i = 0; i < batch.count; i++)
            check_span(&batch, &batch.events[i], number++);
        whole += batch.source.end_offset == 200;
        CHECK(batch.source.end_offset == 100 || number == SPANS);
    }
    CHECK_INT(number, SPANS);
    CHECK_INT(whole, 1); /* only the last part completes the block */
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
}

TEST(spans_come_by_the_thread_that_caused_them)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/annot-late-%d.annot", (int)getpid());
    for (uint32_t emitter = 0; emitter < THREADS; emitter += 3) {
        struct trace *trace = make_trace();
        write_spans(path, trace, emitter);
        read_spans(path, emitter);
        trace_destroy(trace);
    }
    unlink(path);
}
