/* SPDX-License-Identifier: MIT */
/* Writing on a separate thread: gives the same file whatever the disk does, and never blocks the
 * caller. The stalled disk is a FIFO without a reader. */
#include "chunk_queue.h"
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 1000, STRINGS = 30 };

static struct event events[BATCH];
static const struct sample_source FIRST_EVENTS = {.strings = STRINGS, .random = 5};
static const struct store_writer_options overwrite = {.overwrite = true};

static const char *file_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", test_directory(), name);
    return path;
}

struct written {
    struct trace *trace;
    struct store_writer *writer;
    struct sample_source source;
    uint32_t sequence;
};

static void begin(struct written *written, const char *path, bool beside)
{
    *written = (struct written){.trace = sample_trace(1, 1, STRINGS), .source = FIRST_EVENTS};
    CHECK_INT(store_writer_create(path, written->trace, &overwrite, &written->writer), 0);
    CHECK_INT(beside ? store_writer_beside(written->writer) : 0, 0);
}

static int add(struct written *written)
{
    sample_events(&written->source, 0, events, BATCH);
    struct event_batch batch = {0, BATCH,       events, {written->sequence++, 0, 8000},
                                0, sample_args, 0,      0};
    return store_writer_add(written->writer, &batch);
}

static void check_recording(const char *path, uint32_t batches)
{
    struct store_reader *reader;
    struct event_batch batch;
    struct sample_source source = FIRST_EVENTS;
    uint32_t count = 0;
    CHECK_INT(store_reader_open(path, &reader), 0);
    while (store_reader_next(reader, &batch) == 1) {
        CHECK_INT(batch.source.sequence, count++);
        sample_events(&source, 0, events, BATCH);
        for (uint32_t i = 0; i < BATCH; i++)
            sample_check_event(&batch, i, &events[i]);
    }
    CHECK_INT(count, batches);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
}

static uint64_t written_ticket(struct written *written)
{
    struct store_progress progress;
    store_writer_look(written->writer, &progress);
    CHECK_INT(progress.error, 0);
    return progress.written;
}

static void await(struct written *written, uint64_t ticket)
{
    while (written_ticket(written) < ticket) {
        struct pollfd fd = {.fd = store_writer_fd(written->writer), .events = POLLIN};
        CHECK(poll(&fd, 1, 10000) == 1); /* a notification is never lost */
    }
}

TEST_TIMEOUT(a_recording_is_the_same_as_written_at_once, 60)
{
    struct stat status[2];
    for (int beside = 0; beside < 2; beside++) {
        struct written written;
        uint64_t ticket, last = 0;
        const char *path = file_path(beside ? "beside" : "at-once");
        begin(&written, path, beside);
        for (int i = 0; i < 400; i++) {
            CHECK_INT(add(&written), 0);
            if (i % 50 == 7) {
                CHECK_INT(store_writer_seal(written.writer, &ticket), 0);
                CHECK_INT(ticket, last + 1);
                last = ticket;
            }
            store_writer_await_room(written.writer);
        }
        await(&written, last);
        CHECK_INT(store_writer_close(written.writer), 0);
        trace_destroy(written.trace);
        check_recording(path, 400);
        CHECK_INT(stat(path, &status[beside]), 0);
    }
    CHECK(labs((long)(status[0].st_size - status[1].st_size)) < 4096); /* ids differ */
}

TEST(a_ticket_for_nothing_is_written_at_once)
{
    struct written written;
    uint64_t ticket;
    begin(&written, file_path("empty"), true);
    CHECK_INT(store_writer_flush(written.writer), 0);
    CHECK_INT(store_writer_seal(written.writer, &ticket), 0);
    CHECK_INT(written_ticket(&written), ticket);
    CHECK_INT(store_writer_close(written.writer), 0);
    trace_destroy(written.trace);
}

/* A reader that consumes bytes only on request. */
struct fifo {
    int fd;
    const char *path;
};

static struct fifo make_fifo(void)
{
    struct fifo fifo = {.path = file_path("fifo")};
    CHECK_INT(mkfifo(fifo.path, 0600), 0);
    fifo.fd = open(fifo.path, O_RDONLY | O_NONBLOCK);
    CHECK(fifo.fd >= 0 && fcntl(fifo.fd, F_SETPIPE_SZ, 4096) == 4096);
    return fifo;
}

/* Copies all available bytes to a file. */
static void take(const struct fifo *fifo, int out)
{
    char bytes[65536];
    ssize_t count;
    while ((count = read(fifo->fd, bytes, sizeof(bytes))) > 0)
        CHECK_INT(write(out, bytes, (size_t)count), count);
}

TEST_TIMEOUT(a_disk_that_stalls_keeps_nobody, 60)
{
    struct fifo fifo = make_fifo();
    const char *path = file_path("copy");
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct written written;
    struct store_progress progress;
    uint64_t ticket = 0;
    unsigned seals = 0;
    begin(&written, fifo.path, true);
    while (store_writer_has_room(written.writer)) { /* the reader consumes no bytes meanwhile */
        for (int i = 0; i < 10; i++)
            CHECK_INT(add(&written), 0);
        CHECK_INT(store_writer_seal(written.writer, &ticket), 0);
        seals++;
    }
    CHECK(seals > 2 && seals <= CHUNK_QUEUE_MAX + 1);
    for (int i = 0; i < 100; i++) /* the queue is full, but the caller does not block */
        CHECK_INT(add(&written), 0);
    CHECK_INT(store_writer_seal(written.writer, &ticket), 0);
    store_writer_look(written.writer, &progress);
    CHECK(progress.written < ticket && progress.waiting_since_ns > 0);
    while (written_ticket(&written) < ticket) {
        take(&fifo, out);
        usleep(100);
    }
    CHECK(store_writer_has_room(written.writer));
    store_writer_look(written.writer, &progress);
    CHECK_INT(progress.waiting_since_ns, 0);
    CHECK_INT(fcntl(fifo.fd, F_SETPIPE_SZ, 1 << 20), 1 << 20);
    uint32_t batches = written.sequence;
    CHECK_INT(store_writer_close(written.writer), 0);
    take(&fifo, out);
    close(fifo.fd);
    close(out);
    check_recording(path, batches);
    trace_destroy(written.trace);
}

/* Chunks sealed after the error are not written, and the written part of the file is intact. */
TEST(the_first_error_comes_later_and_sticks)
{
    struct rlimit limit = {300000, 300000};
    struct written written;
    struct store_progress progress = {0};
    struct stat status;
    uint64_t ticket, before = 0;
    const char *path = file_path("limit");
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    begin(&written, path, true);
    while (progress.error == 0) {
        before = progress.written;
        (void)add(&written);
        (void)store_writer_seal(written.writer, &ticket);
        store_writer_await_room(written.writer);
        store_writer_look(written.writer, &progress);
    }
    CHECK_INT(progress.error, -EFBIG);
    CHECK(before > 0 && progress.written >= before && progress.written < ticket);
    CHECK_INT(store_writer_seal(written.writer, &ticket), -EFBIG);
    CHECK_INT(stat(path, &status), 0);
    CHECK(status.st_size < 300000); /* the partial chunk was removed */
    CHECK_INT(store_writer_flush(written.writer), -EFBIG);
    store_writer_look(written.writer, &progress);
    CHECK(progress.written < ticket);
    CHECK_INT(store_writer_close(written.writer), -EFBIG);
    struct store_reader *reader;
    struct event_batch batch;
    uint32_t count = 0;
    CHECK_INT(store_reader_open(path, &reader), 0);
    while (store_reader_next(reader, &batch) == 1)
        CHECK_INT(batch.source.sequence, count++);
    CHECK_INT(count, progress.written);              /* one batch per ticket */
    CHECK_INT(store_reader_damage_count(reader), 1); /* only the missing end mark */
    store_reader_close(reader);
    trace_destroy(written.trace);
}

/* The writer is abandoned with chunks in the queue: those already complete in the file are kept. */
TEST(an_abandoned_writer_leaves_whole_chunks)
{
    for (int round = 0; round < 20; round++) {
        struct written written;
        struct store_reader *reader;
        struct event_batch batch;
        uint32_t count = 0;
        uint64_t ticket;
        const char *path = file_path("abandoned");
        begin(&written, path, true);
        for (int i = 0; i < 4 * round; i++) {
            CHECK_INT(add(&written), 0);
            CHECK_INT(store_writer_seal(written.writer, &ticket), 0);
        }
        uint64_t before = written_ticket(&written);
        store_writer_abandon(written.writer);
        CHECK_INT(store_reader_open(path, &reader), 0);
        while (store_reader_next(reader, &batch) == 1)
            CHECK_INT(batch.source.sequence, count++);
        CHECK(count >= before);
        CHECK_INT(store_reader_damage_count(reader), 1);
        store_reader_close(reader);
        trace_destroy(written.trace);
    }
}
