/* SPDX-License-Identifier: MIT */
/* Writes a recording with some of everything (`recording_sums write FILE`), and prints the counts
 * and sums of one (`recording_sums FILE`) as read_recording.py does. */
#include "sample.h"
#include "store.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, THREADS = 3, STRINGS = 300, BATCHES = 90, BATCH = 400, KINDS = 9 };

struct sums {
    uint64_t events, kinds[KINDS], time, name_bytes, domain, category, color, level, value_kind;
    uint64_t value, end, id, depth;
};

/* The sample reports through this; the runner of unit tests is not part of this program. */
void test_fail(const char *file, int line, const char *format, ...)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, format);
    exit(1);
}

static int write_recording(const char *path)
{
    static struct event events[BATCH];
    static struct sample_source source = {.strings = STRINGS, .random = 11};
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true};
    int error = store_writer_create(path, trace, &options, &writer);
    if (error)
        return error;
    for (uint32_t i = 0; i < BATCHES && !error; i++) {
        uint32_t thread = i % (PROCESSES * THREADS);
        sample_events(&source, thread, events, BATCH);
        struct event_batch batch = {thread, BATCH, events, {i, 16 * i, 16 * i + 4000}};
        error = store_writer_add(writer, &batch);
        if (!error && i % 25 == 24)
            error = store_writer_flush(writer);
    }
    int closed = store_writer_close(writer);
    trace_destroy(trace);
    return error ? error : closed;
}

static void add_event(struct sums *sums, const struct trace *trace, const struct event *event)
{
    sums->events++;
    sums->kinds[event->kind]++;
    sums->time += (uint64_t)event->time_ns * (event->thread + 1);
    sums->name_bytes += trace_string(trace, event->name)->length;
    sums->domain += event->domain;
    sums->category += event->category;
    sums->color += event->color;
    sums->level += event->level;
    sums->value_kind += event->value_kind;
    sums->value += event->value.uint64;
    sums->end += (uint64_t)event->end_ns;
    if (event->kind == EVENT_START || event->kind == EVENT_END)
        sums->id += event->id;
    else if (event->kind == EVENT_POP || event->kind == EVENT_LOST)
        sums->depth += event->depth;
}

static void show(const char *key, uint64_t value)
{
    printf("%s %" PRIu64 "\n", key, value);
}

/* In the order of their names. */
static void show_sums(const struct sums *sums, const struct trace *trace, bool complete)
{
    uint64_t pid = 0, events = 0, lost = 0, cmdline = 0, tid = 0, owner = 0, thread_lost = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        pid += (uint64_t)process->pid;
        events += process->event_count;
        cmdline += trace_string(trace, process->cmdline)->length;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            lost += process->lost[cause];
    }
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        tid += (uint64_t)thread->tid;
        owner += thread->process;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            thread_lost += thread->lost[cause];
    }
    show("category", sums->category);
    show("color", sums->color);
    show("complete", complete);
    show("depth", sums->depth);
    show("domain", sums->domain);
    show("end", sums->end);
    show("events", sums->events);
    show("id", sums->id);
    for (int kind = 1; kind < KINDS; kind++)
        printf("kind_%d %" PRIu64 "\n", kind, sums->kinds[kind]);
    show("level", sums->level);
    show("name_bytes", sums->name_bytes);
    show("process_cmdline_bytes", cmdline);
    show("process_events", events);
    show("process_lost", lost);
    show("process_pid", pid);
    show("strings", trace_string_count(trace));
    show("thread_lost", thread_lost);
    show("thread_process", owner);
    show("thread_tid", tid);
    show("time", sums->time);
    show("value", sums->value);
    show("value_kind", sums->value_kind);
}

static int show_recording(const char *path)
{
    struct store_reader *reader;
    struct store_info info;
    struct event_batch batch;
    struct sums sums = {0};
    int status = store_reader_open(path, &reader);
    if (status)
        return status;
    while ((status = store_reader_next(reader, &batch)) == 1)
        for (uint32_t i = 0; i < batch.count; i++)
            add_event(&sums, store_reader_trace(reader), &batch.events[i]);
    store_reader_info(reader, &info);
    show_sums(&sums, store_reader_trace(reader), info.complete);
    store_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    int status = argc == 3 && strcmp(argv[1], "write") == 0 ? write_recording(argv[2])
                 : argc == 2                                ? show_recording(argv[1])
                                                            : -22;
    if (status)
        fprintf(stderr, "recording_sums: %s\n", strerror(-status));
    return status != 0;
}
