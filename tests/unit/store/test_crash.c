/* SPDX-License-Identifier: MIT */
/* Killed writers and full disks: flushed data is readable, errors stick. */
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 400, STRINGS = 30 };

static struct event events[BATCH];
static const struct sample_source FIRST_EVENTS = {.strings = STRINGS, .random = 5};

static struct store_writer_options written_as;

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/crash.annot", test_directory());
    return path;
}

/* Adds batches with increasing sequence numbers; the same seed gives the same events. */
static int add_next(struct store_writer *writer, uint32_t sequence, struct sample_source *source)
{
    sample_events(source, 0, events, BATCH);
    struct event_batch batch = {0, BATCH, events, {sequence, 0, 8000}, 0, sample_args, 0, 0};
    return store_writer_add(writer, &batch);
}

/* Writes until killed; reports the number of batches certainly in the file through `flushed`. */
static void write_forever(int flushed)
{
    struct trace *trace = sample_trace(1, 1, STRINGS);
    struct store_writer *writer;
    struct sample_source source = FIRST_EVENTS;
    if (store_writer_create(file_path(), trace, &written_as, &writer) != 0)
        _exit(1);
    for (uint32_t i = 0;; i++) {
        if (add_next(writer, i, &source) != 0)
            _exit(2);
        if (i % 50 != 49)
            continue;
        uint32_t count = i + 1;
        if (store_writer_flush(writer) != 0 || write(flushed, &count, sizeof(count)) < 0)
            _exit(3);
    }
}

/* Reads from the start: batches must be in sequence and unchanged. Returns their number. */
static uint32_t check_recording(void)
{
    struct store_reader *reader;
    struct event_batch batch;
    uint32_t count = 0;
    struct sample_source source = FIRST_EVENTS;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    while (store_reader_next(reader, &batch) == 1) {
        CHECK_INT(batch.source.sequence, count++);
        CHECK_INT(batch.count, BATCH);
        sample_events(&source, 0, events, BATCH);
        for (uint32_t i = 0; i < BATCH; i++)
            sample_check_event(&batch, i, &events[i]);
    }
    store_reader_close(reader);
    return count;
}

/* Kills a writer after a delay; returns its last reported number. */
static uint32_t kill_writer(useconds_t delay_us)
{
    int pipe_fds[2];
    uint32_t flushed = 0, count;
    CHECK_INT(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0)
        write_forever(pipe_fds[1]);
    CHECK_INT(read(pipe_fds[0], &count, sizeof(count)), sizeof(count)); /* it is running */
    flushed = count;
    usleep(delay_us);
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    close(pipe_fds[1]);
    while (read(pipe_fds[0], &count, sizeof(count)) == sizeof(count))
        flushed = count;
    close(pipe_fds[0]);
    return flushed;
}

TEST_TIMEOUT(killed_writer_leaves_all_it_flushed, 120)
{
    for (useconds_t round = 0; round < 12; round++) {
        uint32_t flushed = kill_writer(500 + round * 1700);
        uint32_t count = check_recording();
        CHECK(count >= flushed);
        unlink(file_path());
    }
}

/* A kill may cut a write at any page: the last volume is then cut inside a chunk. */
static void check_damage(const struct store_reader *reader)
{
    uint32_t last = store_reader_damage_count(reader) - 1;
    CHECK(last < 2);
    CHECK(strstr(store_reader_damage(reader, last)->reason, "no end mark"));
    if (last)
        CHECK(strstr(store_reader_damage(reader, 0)->reason, "cut inside a chunk"));
}

/* Many volumes, so that some of the kills occur between two. */
TEST_TIMEOUT(killed_writer_of_volumes_leaves_all_it_flushed, 120)
{
    uint32_t most = 0;
    written_as = (struct store_writer_options){.overwrite = true, .volume_bytes = 20000};
    for (useconds_t round = 0; round < 12; round++) {
        struct store_reader *reader;
        struct store_writer *writer;
        struct store_volume volume;
        uint32_t flushed = kill_writer(500 + round * 1700), volumes = 0;
        uint32_t count = check_recording();
        CHECK(count >= flushed);
        CHECK_INT(store_reader_open(file_path(), &reader), 0);
        check_damage(reader);
        while (store_reader_volume(reader, volumes, &volume))
            volumes++;
        most = volumes > most ? volumes : most;
        CHECK_INT(store_writer_resume(file_path(), store_reader_trace(reader), &writer), 0);
        CHECK_INT(store_writer_close(writer), 0);
        store_reader_close(reader);
        CHECK_INT(check_recording(), count);
    }
    CHECK(most > 10);
}

TEST_TIMEOUT(killed_writer_can_be_resumed_again_and_again, 120)
{
    struct store_reader *reader;
    struct store_writer *writer;
    uint32_t flushed = kill_writer(3000);
    for (int round = 0; round < 3; round++) {
        uint32_t count = check_recording();
        CHECK(count >= flushed);
        struct sample_source source = FIRST_EVENTS;
        for (uint32_t i = 0; i < count; i++)
            sample_events(&source, 0, events, BATCH);
        CHECK_INT(store_reader_open(file_path(), &reader), 0);
        CHECK_INT(store_writer_resume(file_path(), store_reader_trace(reader), &writer), 0);
        for (uint32_t i = count; i < count + 20; i++)
            CHECK_INT(add_next(writer, i, &source), 0);
        if (round == 1) {
            CHECK_INT(store_writer_close(writer), 0);
        } else {
            CHECK_INT(store_writer_flush(writer), 0);
            store_writer_abandon(writer);
        }
        store_reader_close(reader);
        flushed = count + 20;
        CHECK_INT(check_recording(), flushed);
    }
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    CHECK_INT(store_reader_damage_count(reader), 1); /* only the missing end mark */
    store_reader_close(reader);
}

/* Writes until an error occurs, which must stick; data flushed before it is readable. */
static void write_until_error(const char *path, int expected)
{
    struct trace *trace = sample_trace(1, 1, STRINGS);
    struct store_writer *writer;
    struct sample_source source = FIRST_EVENTS;
    int status = store_writer_create(path, trace, &(struct store_writer_options){0}, &writer);
    uint32_t flushed = 0;
    CHECK_INT(status, 0);
    for (uint32_t i = 0; !status && i < 20000; i++) {
        status = add_next(writer, i, &source);
        if (!status && i % 10 == 9)
            status = store_writer_flush(writer);
        flushed = status || i % 10 != 9 ? flushed : i + 1;
    }
    CHECK_INT(status, expected);
    CHECK(flushed > 0);
    CHECK_INT(add_next(writer, 0, &source), expected);
    CHECK_INT(store_writer_flush(writer), expected);
    CHECK_INT(store_writer_close(writer), expected);
    CHECK(check_recording() >= flushed);
    trace_destroy(trace);
}

TEST(file_size_limit_is_an_error_not_a_signal)
{
    struct rlimit limit = {300000, 300000};
    test_directory();
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_until_error(file_path(), -EFBIG);
    struct stat status;
    CHECK_INT(stat(file_path(), &status), 0);
    CHECK(status.st_size < 300000); /* the partial chunk was removed */
}

TEST(full_file_system_is_a_sticky_error)
{
    const char *directory = test_directory();
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", directory, "tmpfs", 0, "size=256k") != 0)
        test_skip("no right to mount a small file system: %s", strerror(errno));
    write_until_error(file_path(), -ENOSPC);
    CHECK_INT(umount(directory), 0);
}

TEST(full_device_fails_at_once)
{
    struct trace *trace = sample_trace(1, 1, 1);
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true};
    CHECK_INT(store_writer_create("/dev/full", trace, &options, &writer), -ENOSPC);
    CHECK_INT(access("/dev/full", F_OK), 0);
    trace_destroy(trace);
}

TEST(existing_file_is_kept_unless_told)
{
    struct trace *trace = sample_trace(1, 1, 1);
    struct store_writer *writer;
    struct store_writer_options options = {0};
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    CHECK_INT(store_writer_close(writer), 0);
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), -EEXIST);
    options.overwrite = true;
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    CHECK_INT(store_writer_close(writer), 0);
    CHECK_INT(store_writer_create("/nonexistent/x", trace, &options, &writer), -ENOENT);
    trace_destroy(trace);
}
