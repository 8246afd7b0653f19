/* SPDX-License-Identifier: MIT */
/* Recordings cut anywhere or with any bit flipped: intact parts are read exactly, damaged ones are
 * named. */
#include "format.h"
#include "made_sample.h"
#include "random_samples.h"
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, STRINGS = 4, BATCHES = 12, BATCH = 7, CHUNKS_MAX = 64, FILE_MAX = 16384 };

struct chunk {
    size_t begin, end;
    uint8_t type;
    uint32_t first_batch, batch_count;   /* of EVENTS */
    uint32_t first_sample, sample_count; /* of SAMPLES */
};

/* A small recording with all kinds of content, and the places of its chunks. */
struct fixture {
    struct event events[BATCHES][BATCH];
    uint32_t threads[BATCHES];
    struct chunk chunks[CHUNKS_MAX];
    size_t chunk_count;
    uint8_t bytes[FILE_MAX];
    size_t size;
    char path[512];
    bool seen[BATCHES];
    bool sampled[BATCHES];
    uint64_t lost;
};

static struct fixture sample;

/* One sample per batch. */
static struct sample sample_of(uint32_t batch)
{
    const struct sample made = {
        .time_ns = INT64_C(1000000007) * batch,
        .end_ns = batch % 2 ? INT64_C(1000000007) * batch + 9 : 0,
        .thread = batch % THREADS,
        .stack = 1 + batch,
        .cpu = (uint16_t)batch,
    };
    return batch % 2 ? made_wait(made, 0) : made_cpu(made, 0);
}

static void write_sample(void)
{
    struct trace *trace = sample_trace(1, THREADS, STRINGS);
    struct store_writer *writer;
    struct sample_source source = {.strings = STRINGS, .random = 3};
    snprintf(sample.path, sizeof(sample.path), "%s/damaged.annot", test_directory());
    CHECK_INT(store_writer_create(sample.path, trace, &(struct store_writer_options){0}, &writer),
              0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint32_t thread = sample.threads[i] = i % THREADS;
        sample_events(&source, thread, sample.events[i], BATCH);
        struct event_batch batch = {thread, BATCH, sample.events[i], {i, 0, 16}, 0, sample_args,
                                    0,      0};
        struct sample one = sample_of(i);
        CHECK_INT(store_writer_add(writer, &batch), 0);
        CHECK_INT(store_writer_add_samples(writer, &one, 1), 0);
        if (i % 3 == 2) {
            trace_thread(trace, thread)->revision++;
            CHECK_INT(store_writer_flush(writer), 0);
        }
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

/* Loads the file and finds its chunks by their lengths. */
static void load_sample(void)
{
    uint32_t batch = 0, sampled = 0;
    int fd = open(sample.path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, sample.bytes, FILE_MAX);
    close(fd);
    CHECK(size > 0 && size < FILE_MAX);
    sample.size = (size_t)size;
    for (size_t at = STORE_HEADER_SIZE; at < sample.size;) {
        struct store_chunk_header header;
        memcpy(&header, sample.bytes + at, sizeof(header));
        struct chunk *chunk = &sample.chunks[sample.chunk_count++];
        *chunk = (struct chunk){at,
                                at + sizeof(header) + header.stored_size,
                                header.type,
                                batch,
                                header.type == STORE_CHUNK_EVENTS ? 3 : 0,
                                sampled,
                                header.type == STORE_CHUNK_SAMPLES ? 3 : 0};
        batch += chunk->batch_count;
        sampled += chunk->sample_count;
        at = chunk->end;
    }
    CHECK_INT(batch, BATCHES);
    CHECK_INT(sampled, BATCHES);
}

static void take_batch(const struct event_batch *batch)
{
    uint32_t i = batch->source.sequence;
    if (batch->count == 1 && batch->events[0].kind == EVENT_LOST &&
        batch->events[0].level == LOSS_CORRUPT && batch->source.end_offset == 0) {
        sample.lost += batch->events[0].value.uint64;
        return;
    }
    CHECK(i < BATCHES && !sample.seen[i]);
    sample.seen[i] = true;
    CHECK_INT(batch->thread, sample.threads[i]);
    CHECK_INT(batch->count, BATCH);
    for (uint32_t e = 0; e < BATCH; e++)
        sample_check_event(batch, e, &sample.events[i][e]);
}

/* The time identifies the sample; damage may have removed the definition of its stack. */
static void take_sample(const struct sample *actual)
{
    uint32_t i = actual->time_ns ? (uint32_t)(actual->time_ns / 1000000007) : 0;
    CHECK(i < BATCHES && !sample.sampled[i]);
    struct sample expected = sample_of(i), copy = *actual;
    sample.sampled[i] = true;
    if (copy.stack == 0)
        copy.stack = expected.stack;
    random_check_sample(&copy, &expected);
}

static void take_samples(struct store_reader *reader)
{
    const struct sample *samples;
    uint32_t count;
    int status;
    memset(sample.sampled, 0, sizeof(sample.sampled));
    while ((status = store_reader_next_samples(reader, &samples, &count)) == 1)
        for (uint32_t i = 0; i < count; i++)
            take_sample(&samples[i]);
    CHECK_INT(status, 0);
}

/* Reads the present file. Returns the status of the open. */
static int read_sample(uint32_t *ret_damage_count)
{
    struct store_reader *reader;
    struct event_batch batch;
    int status = store_reader_open(sample.path, &reader);
    memset(sample.seen, 0, sizeof(sample.seen));
    sample.lost = 0;
    if (status)
        return status;
    while ((status = store_reader_next(reader, &batch)) == 1)
        take_batch(&batch);
    CHECK_INT(status, 0);
    take_samples(reader);
    *ret_damage_count = store_reader_damage_count(reader);
    for (uint32_t i = 0; i < *ret_damage_count; i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        CHECK(damage->reason && damage->offset + damage->length <= sample.size);
    }
    store_reader_close(reader);
    return 0;
}

/* All batches except those of `missing` were read. */
static void check_seen(const struct chunk *missing)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        bool gone = missing && i - missing->first_batch < missing->batch_count;
        CHECK_INT(sample.seen[i], !gone);
        gone = missing && i - missing->first_sample < missing->sample_count;
        CHECK_INT(sample.sampled[i], !gone);
    }
}

static const struct chunk *chunk_at(size_t offset)
{
    for (size_t i = 0; i < sample.chunk_count; i++)
        if (offset >= sample.chunks[i].begin && offset < sample.chunks[i].end)
            return &sample.chunks[i];
    return NULL;
}

static void put_byte(size_t offset, uint8_t byte)
{
    int fd = open(sample.path, O_WRONLY | O_CLOEXEC);
    CHECK_INT(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

TEST(undamaged_sample_has_no_damage)
{
    uint32_t damage_count = 1;
    write_sample();
    load_sample();
    CHECK_INT(read_sample(&damage_count), 0);
    CHECK_INT(damage_count, 0);
    check_seen(NULL);
    CHECK_INT(sample.lost, 0);
}

TEST_TIMEOUT(cut_at_every_length_reads_what_is_whole, 120)
{
    write_sample();
    load_sample();
    for (size_t length = sample.size; length-- > 0;) {
        uint32_t damage_count = 0;
        CHECK_INT(truncate(sample.path, (off_t)length), 0);
        int status = read_sample(&damage_count);
        CHECK_INT(status, length < STORE_HEADER_SIZE ? -ENODATA : 0);
        if (status)
            continue;
        CHECK(damage_count >= 1);
        for (size_t i = 0; i < sample.chunk_count; i++) {
            const struct chunk *chunk = &sample.chunks[i];
            for (uint32_t b = 0; b < chunk->batch_count; b++)
                CHECK_INT(sample.seen[chunk->first_batch + b], chunk->end <= length);
            for (uint32_t b = 0; b < chunk->sample_count; b++)
                CHECK_INT(sample.sampled[chunk->first_sample + b], chunk->end <= length);
        }
    }
}

TEST_TIMEOUT(every_flipped_bit_costs_at_most_its_chunk, 120)
{
    write_sample();
    load_sample();
    for (size_t bit = 0; bit < sample.size * 8; bit++) {
        const struct chunk *chunk = chunk_at(bit / 8);
        uint32_t damage_count = 0;
        put_byte(bit / 8, sample.bytes[bit / 8] ^ (uint8_t)(1u << bit % 8));
        CHECK_INT(read_sample(&damage_count), 0);
        CHECK(damage_count >= 1);
        check_seen(chunk);
        /* The events of a lost chunk are counted at the next event of their thread. */
        bool goes_on = chunk && chunk->batch_count && chunk->first_batch + 3 < BATCHES;
        CHECK_INT(sample.lost, goes_on ? 3 * BATCH : 0);
        put_byte(bit / 8, sample.bytes[bit / 8]);
    }
}

TEST(removed_chunk_is_noticed)
{
    write_sample();
    load_sample();
    for (size_t i = 0; i < sample.chunk_count; i++) {
        const struct chunk *gone = &sample.chunks[i];
        uint32_t damage_count = 0;
        int fd = open(sample.path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        CHECK_INT(write(fd, sample.bytes, gone->begin), gone->begin);
        CHECK_INT(write(fd, sample.bytes + gone->end, sample.size - gone->end),
                  sample.size - gone->end);
        close(fd);
        CHECK_INT(read_sample(&damage_count), 0);
        CHECK(damage_count >= 1);
        check_seen(gone);
    }
}

TEST(foreign_files_are_refused)
{
    static const char *const texts[] = {"#!/bin/sh\nexit\n", "{\"traceEvents\":[]}", "\x89PNG\r\n"};
    struct store_reader *reader;
    snprintf(sample.path, sizeof(sample.path), "%s/foreign", test_directory());
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        FILE *file = fopen(sample.path, "w");
        for (int copies = 0; copies < 100; copies++)
            fputs(texts[i], file);
        fclose(file);
        CHECK_INT(store_reader_open(sample.path, &reader), -EBADMSG);
    }
    CHECK_INT(store_reader_open("/nonexistent/file", &reader), -ENOENT);
    CHECK_INT(store_reader_open("/tmp", &reader), -EISDIR);
}

/* Each call writes a chunk. */
static void add_marks(struct store_writer *writer, struct event *events, uint32_t count)
{
    const struct event_batch batch = {.count = count, .events = events};
    CHECK_INT(store_writer_add(writer, &batch), 0);
    CHECK_INT(store_writer_flush(writer), 0);
}

/* Damages the payload of a chunk. */
static void damage_events(const char *path, unsigned number)
{
    struct store_chunk_header header;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (off_t at = STORE_HEADER_SIZE; pread(fd, &header, sizeof(header), at) > 0;
         at += (off_t)(sizeof(header) + header.stored_size))
        if (header.type == STORE_CHUNK_EVENTS && number-- == 0)
            CHECK_INT(pwrite(fd, "damage", 6, at + (off_t)sizeof(header)), 6);
    close(fd);
}

/* A span is reported when it ends. */
TEST(a_gap_lies_between_what_was_told_before_it_and_behind_it)
{
    char path[512];
    struct trace *trace = sample_trace(1, 1, STRINGS);
    struct store_writer *writer;
    struct event_batch batch;
    struct event before = {.kind = EVENT_SPAN, .time_ns = 10, .end_ns = 50, .name = 1};
    struct event gone[] = {{.kind = EVENT_MARK, .time_ns = 60, .name = 1},
                           {.kind = EVENT_MARK, .time_ns = 70, .name = 1}};
    struct event behind = {.kind = EVENT_SPAN, .time_ns = 20, .end_ns = 100, .name = 1};
    snprintf(path, sizeof(path), "%s/gap.annot", test_directory());
    before.lane = behind.lane = (uint32_t)trace_lane_of(trace, LANE_QUEUE, 0, 7);
    before.origin_ns = behind.origin_ns = EVENT_NO_ORIGIN;
    CHECK_INT(store_writer_create(path, trace, &(struct store_writer_options){0}, &writer), 0);
    add_marks(writer, &before, 1);
    add_marks(writer, gone, 2);
    add_marks(writer, &behind, 1);
    CHECK_INT(store_writer_close(writer), 0);
    damage_events(path, 1);
    struct store_reader *reader;
    CHECK_INT(store_reader_open(path, &reader), 0);
    CHECK_INT(store_reader_next(reader, &batch), 1);
    CHECK_INT(store_reader_next(reader, &batch), 1);
    CHECK_INT(batch.events[0].kind, EVENT_LOST);
    CHECK_INT(batch.events[0].value.uint64, 2);
    CHECK_INT(batch.events[0].time_ns, 50);
    CHECK_INT(batch.events[0].end_ns, 100);
    store_reader_close(reader);
    trace_destroy(trace);
}
