/* SPDX-License-Identifier: MIT */
/* Allocations that fail at any call, and memory that must not grow with the file.
 *
 * malloc, calloc and realloc are wrapped by the linker: the nth call of a run fails. */
#include "pass.h"
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 500, STRINGS = 20, SMALL = 6, LARGE = 24000, READER_MAX_KIB = 32 * 1024 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static long calls_left = -1; /* -1: never fails */
static bool failed;

static bool fails(void)
{
    if (calls_left < 0)
        return false;
    failed = failed || calls_left == 0;
    return calls_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/memory.annot", test_directory());
    return path;
}

static int write_recording(const struct trace *trace, uint32_t batches)
{
    static struct event events[BATCH];
    struct sample_source source = {.strings = STRINGS, .random = 5};
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true};
    int status = store_writer_create(file_path(), trace, &options, &writer);
    if (status)
        return status;
    for (uint32_t i = 0; i < batches && !status; i++) {
        sample_events(&source, i % 3, events, BATCH);
        struct event_batch batch = {i % 3, BATCH, events, {i, 0, 8000}, 0, sample_args, 0, 0};
        status = store_writer_add(writer, &batch);
        struct sample sample = {.set = SAMPLE_SET_CPU,
                                .thread = i % 3,
                                .time_ns = i,
                                .stack = i % 20,
                                SAMPLE_VALUES(1)};
        if (!status)
            status = store_writer_add_samples(writer, &sample, 1);
    }
    int closed = store_writer_close(writer);
    return status ? status : closed;
}

static int take(void *context, const struct item *item)
{
    (void)context, (void)item;
    return 0;
}

static int read_recording(uint64_t *ret_count)
{
    struct store_reader *reader;
    int status = store_reader_open(file_path(), &reader);
    *ret_count = 0;
    if (status)
        return status;
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {take, NULL,
                              WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_PATHS | WANT_TIMES};
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    status = pass ? pass_run(pass) : -ENOMEM;
    for (unsigned kind = 0; !status && kind < EVENT_KINDS; kind++)
        *ret_count += pass_counts(pass)->events[kind];
    pass_destroy(pass);
    store_reader_close(reader);
    return status;
}

TEST_TIMEOUT(every_allocation_may_fail_while_writing, 120)
{
    struct trace *trace = sample_trace(2, 2, STRINGS);
    long nth = 0;
    do {
        failed = false;
        calls_left = nth++;
        int status = write_recording(trace, SMALL);
        calls_left = -1;
        CHECK_INT(status, failed ? -ENOMEM : 0);
    } while (failed);
    CHECK(nth > 10);
    trace_destroy(trace);
}

TEST_TIMEOUT(every_allocation_may_fail_while_reading, 120)
{
    struct trace *trace = sample_trace(2, 2, STRINGS);
    uint64_t count;
    long nth = 0;
    CHECK_INT(write_recording(trace, SMALL), 0);
    do {
        failed = false;
        calls_left = nth++;
        int status = read_recording(&count);
        calls_left = -1;
        CHECK_INT(status, failed ? -ENOMEM : 0);
    } while (failed);
    CHECK_INT(count, SMALL * BATCH);
    CHECK(nth > 15);
    trace_destroy(trace);
}

TEST_TIMEOUT(every_allocation_may_fail_while_resuming, 120)
{
    struct trace *trace = sample_trace(2, 2, STRINGS);
    struct store_writer *writer;
    uint64_t count;
    long nth = 0;
    CHECK_INT(write_recording(trace, SMALL), 0);
    do {
        failed = false;
        calls_left = nth++;
        int status = store_writer_resume(file_path(), trace, &writer);
        calls_left = -1;
        CHECK_INT(status, failed ? -ENOMEM : 0);
        CHECK_INT(read_recording(&count), 0); /* a failure has not damaged the file */
        CHECK_INT(count, SMALL * BATCH);
    } while (failed);
    store_writer_abandon(writer);
    trace_destroy(trace);
}

static long peak_kib(void)
{
    struct rusage usage;
    CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

TEST_TIMEOUT(reader_needs_little_memory_for_a_large_file, 120)
{
    struct store_reader *reader;
    struct event_batch batch;
    uint64_t count = 0;
    struct stat status;
    pid_t pid = fork(); /* excludes the writer's memory */
    if (pid == 0)
        _exit(write_recording(sample_trace(1, 3, STRINGS), LARGE) != 0);
    int exit_status;
    CHECK_INT(waitpid(pid, &exit_status, 0), pid);
    CHECK_INT(exit_status, 0);
    CHECK(stat(file_path(), &status) == 0 && status.st_size > READER_MAX_KIB * 1024);
    long before = peak_kib();
    CHECK(before > 0);
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    while (store_reader_next(reader, &batch) == 1)
        count += batch.count;
    store_reader_close(reader);
    CHECK_INT(count, (uint64_t)LARGE * BATCH);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory */
    CHECK(peak_kib() - before < READER_MAX_KIB / 4);
#endif
}
