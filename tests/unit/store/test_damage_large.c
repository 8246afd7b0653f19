/* SPDX-License-Identifier: MIT */
/* Random damage in a recording of many chunks: every batch outside the damaged chunks is read
 * exactly and in order, and lost events are counted exactly. */
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 5, STRINGS = 50, BATCHES = 3000, BATCH = 600, FLUSH_EVERY = 40, ROUNDS = 12 };

static struct event events[BATCH];

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/large.annot", test_directory());
    return path;
}

static void write_recording(void)
{
    struct sample_source source = {.strings = STRINGS, .random = 21};
    struct trace *trace = sample_trace(1, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_writer_options options = {0};
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        sample_events(&source, i % THREADS, events, BATCH);
        struct event_batch batch = {i % THREADS, BATCH, events, {i, 0, 9600}, 0, sample_args, 0, 0};
        CHECK_INT(store_writer_add(writer, &batch), 0);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1)
            CHECK_INT(store_writer_flush(writer), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

struct tally {
    uint64_t delivered, lost;
    uint32_t damage_count;
    bool complete; /* each thread's last batch was read */
};

static bool is_corrupt_loss(const struct event_batch *batch)
{
    return batch->count == 1 && batch->source.end_offset == 0 &&
           batch->events[0].kind == EVENT_LOST && batch->events[0].level == LOSS_CORRUPT;
}

/* Recreates the events up to the delivered batch, which must be equal. */
static void check_batch(const struct event_batch *batch, struct sample_source *source,
                        uint32_t *next)
{
    CHECK(batch->source.sequence >= *next && batch->source.sequence < BATCHES);
    for (; *next <= batch->source.sequence; ++*next)
        sample_events(source, *next % THREADS, events, BATCH);
    CHECK_INT(batch->count, BATCH);
    for (uint32_t e = 0; e < BATCH; e++)
        sample_check_event(batch, e, &events[e]);
}

static struct tally read_recording(void)
{
    struct sample_source source = {.strings = STRINGS, .random = 21};
    struct tally tally = {0};
    struct store_reader *reader;
    struct event_batch batch;
    uint32_t next = 0, last_batches = 0;
    int status;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    while ((status = store_reader_next(reader, &batch)) == 1) {
        if (is_corrupt_loss(&batch)) {
            tally.lost += batch.events[0].value.uint64;
            continue;
        }
        check_batch(&batch, &source, &next);
        tally.delivered += batch.count;
        last_batches += batch.source.sequence >= BATCHES - THREADS;
    }
    CHECK_INT(status, 0);
    tally.damage_count = store_reader_damage_count(reader);
    tally.complete = last_batches == THREADS;
    store_reader_close(reader);
    return tally;
}

/* Flips, overwrites or zeroes a random piece. Saves the original bytes and returns their length. */
static size_t damage_piece(int fd, off_t size, uint64_t *random, uint8_t *saved, off_t *ret_at)
{
    uint8_t piece[4096];
    size_t length = sample_random(random) % 2 ? 1 : 1 + sample_random(random) % sizeof(piece);
    *ret_at = (off_t)(sample_random(random) % (uint64_t)(size - (off_t)length));
    CHECK_INT(pread(fd, saved, length, *ret_at), length);
    uint8_t change = (uint8_t)(1u << sample_random(random) % 8);
    for (size_t i = 0; i < length; i++)
        piece[i] = saved[i] ^ change;
    CHECK_INT(pwrite(fd, piece, length, *ret_at), length);
    return length;
}

TEST_TIMEOUT(random_damage_costs_only_its_chunks, 120)
{
    enum { PIECES = 6 };

    const uint64_t total = (uint64_t)BATCHES * BATCH;
    const uint64_t chunk_events = (uint64_t)FLUSH_EVERY * BATCH;
    uint64_t random = 77;
    struct stat status;
    write_recording();
    int fd = open(file_path(), O_RDWR | O_CLOEXEC);
    CHECK_INT(fstat(fd, &status), 0);
    for (int round = 0; round < ROUNDS; round++) {
        static uint8_t saved[PIECES][4096];
        size_t length[PIECES];
        off_t at[PIECES];
        for (int i = 0; i < PIECES; i++)
            length[i] = damage_piece(fd, status.st_size, &random, saved[i], &at[i]);
        struct tally tally = read_recording();
        CHECK(tally.damage_count >= 1 && tally.delivered < total);
        CHECK(tally.delivered >= total - 2 * PIECES * chunk_events);
        CHECK(tally.delivered + tally.lost <= total);
        if (tally.complete)
            CHECK_INT(tally.delivered + tally.lost, total);
        for (int i = PIECES; i-- > 0;)
            CHECK_INT(pwrite(fd, saved[i], length[i], at[i]), length[i]);
    }
    close(fd);
    struct tally tally = read_recording();
    CHECK(tally.damage_count == 0 && tally.delivered == total && tally.lost == 0);
}
