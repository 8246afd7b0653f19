/* SPDX-License-Identifier: MIT */
/* A recording is read while it grows: byte by byte, no data is missed or read twice, and an
 * incomplete end is no damage. */
#include "random_samples.h"
#include "reader.h"
#include "sample_events.h"
#include "stacks.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROCESSES = 2, THREADS = 3, STRINGS = 50, BATCHES = 24, BATCH = 20, SAMPLES = 10 };

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", test_directory(), name);
}

/* Flushed after every other batch, to get many chunks. */
static void write_recording(const char *path)
{
    static struct event events[BATCH];
    static struct sample samples[SAMPLES];
    struct sample_source source = {.strings = STRINGS, .random = 5};
    const struct store_writer_options options = {.overwrite = true};
    uint64_t random = 23;
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    random_stacks(trace, STRINGS, 100);
    struct store_writer *writer;
    CHECK_INT(store_writer_create(path, trace, &options, &writer), 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint32_t thread = i % (PROCESSES * THREADS);
        sample_events(&source, thread, events, BATCH);
        const struct event_batch batch = {thread, BATCH,       events, {i, 16 * i, 16 * i + 320},
                                          0,      sample_args, 0,      0};
        CHECK_INT(store_writer_add(writer, &batch), 0);
        random_samples(trace, PROCESSES * THREADS, &random, samples, SAMPLES);
        CHECK_INT(store_writer_add_samples(writer, samples, SAMPLES), 0);
        if (i % 2 == 1)
            CHECK_INT(store_writer_flush(writer), 0);
        if (i == BATCHES / 2) { /* definitions added later */
            trace_thread_add(trace, 0);
            trace_string_add(trace, "late", 4);
        }
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

struct sums {
    uint64_t events, samples, time;
};

static void add_all(struct store_reader *reader, struct sums *sums)
{
    struct event_batch batch;
    const struct sample *samples;
    uint32_t count;
    int status;
    while ((status = store_reader_next(reader, &batch)) == 1) {
        sums->events += batch.count;
        for (uint32_t i = 0; i < batch.count; i++)
            sums->time += (uint64_t)batch.events[i].time_ns * (batch.thread + 1);
    }
    CHECK_INT(status, 0);
    while ((status = store_reader_next_samples(reader, &samples, &count)) == 1)
        sums->samples += count;
    CHECK_INT(status, 0);
}

static struct sums read_whole(const char *path)
{
    struct store_reader *reader;
    struct sums sums = {0};
    CHECK_INT(store_reader_open(path, &reader), 0);
    add_all(reader, &sums);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
    return sums;
}

/* Reads after every `step` bytes. */
static void follow(const char *path, const char *growing, size_t step)
{
    static uint8_t bytes[1 << 20];
    struct sums sums = {0};
    struct store_reader *reader = NULL;
    int in = open(path, O_RDONLY), out = open(growing, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t size = read(in, bytes, sizeof(bytes));
    CHECK(in >= 0 && out >= 0 && size > 0 && size < (ssize_t)sizeof(bytes));
    for (ssize_t at = 0; at < size; at += (ssize_t)step) {
        size_t part = (size_t)(size - at) < step ? (size_t)(size - at) : step;
        CHECK_INT(write(out, bytes + at, part), part);
        if (!reader && store_reader_follow(growing, &reader) != 0)
            continue; /* the header is incomplete */
        CHECK(store_reader_more(reader) >= 0);
        add_all(reader, &sums);
        CHECK_INT(store_reader_damage_count(reader), 0);
        CHECK_INT(store_reader_ended(reader), at + (ssize_t)part == size);
    }
    struct sums whole = read_whole(path);
    CHECK_INT(sums.events, whole.events);
    CHECK_INT(sums.time, whole.time);
    CHECK_INT(sums.samples, whole.samples);
    CHECK_INT(trace_thread_count(store_reader_trace(reader)), PROCESSES * THREADS + 1);
    CHECK_INT(ftruncate(out, 100), 0);
    CHECK_INT(store_reader_more(reader), -ESTALE);
    store_reader_close(reader);
    close(in);
    close(out);
}

TEST(a_recording_is_followed_byte_by_byte)
{
    char path[256], growing[256];
    path_of("whole.annot", path);
    path_of("growing.annot", growing);
    write_recording(path);
    CHECK_INT(read_whole(path).events, BATCHES * BATCH);
    CHECK_INT(read_whole(path).samples, BATCHES * SAMPLES);
    follow(path, growing, 7);
    follow(path, growing, 500);
    follow(path, growing, 1 << 20);
}

TEST(damage_in_the_middle_is_still_damage)
{
    char path[256];
    struct store_reader *reader;
    struct sums sums = {0};
    path_of("damaged.annot", path);
    write_recording(path);
    int fd = open(path, O_RDWR);
    off_t middle = lseek(fd, 0, SEEK_END) / 2;
    CHECK_INT(pwrite(fd, "damage damage damage damage damage damage damage damage damage damage",
                     70, middle),
              70);
    close(fd);
    CHECK_INT(store_reader_follow(path, &reader), 0);
    add_all(reader, &sums);
    CHECK(store_reader_damage_count(reader) > 0);
    uint64_t read = sums.events + sums.samples;
    CHECK(read > 0 && read < BATCHES * (BATCH + SAMPLES));
    CHECK(store_reader_ended(reader));
    store_reader_close(reader);
}
