/* SPDX-License-Identifier: MIT */
/* How long it takes to the first result of a part of a large recording, warm.
 *
 *     bench_seek [--json] [MEBIBYTES]
 *
 * Makes a recording of that size (1024) in the temporary folder: 8 threads with ranges of 100 ns to
 * 1 ms of 20 names, nested up to 8 deep, 5,000 stacks, a sample in 1,000 events. Then opens it,
 * with all definitions, and reads from random instants on until the first item comes, and once with
 * a selection that needs all that came before; the file is deleted. Times are those of the wall
 * clock. */
#include "clock_now.h"
#include "pass.h"
#include "reader.h"
#include "stacks.h"
#include "writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, NAMES = 20, BATCH = 500, DEPTH = 8, STACKS = 5000, PLACES = 20 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

struct writing {
    struct trace *trace;
    struct store_writer *writer;
    uint32_t names[NAMES];
    int64_t now_ns[THREADS];
    uint32_t depth[THREADS];
    int64_t steps_ns[4096];
};

static void make_trace(struct writing *writing)
{
    struct trace *trace = writing->trace = trace_create();
    struct stacks *stacks = trace_stacks(trace);
    trace_process_add(trace);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "range %u", i);
        writing->names[i] = (uint32_t)trace_string_add(trace, name, (size_t)length);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        trace_thread_add(trace, 0);
        writing->now_ns[i] = 1000000000;
    }
    for (uint32_t i = 1; i < STACKS; i++) {
        const struct label label = {.kind = FRAME_NATIVE, .text = writing->names[i % NAMES]};
        const struct frame frame = {.kind = FRAME_NATIVE,
                                    .label = (uint32_t)stacks_label(stacks, &label),
                                    .address = 64 * i};
        stacks_push(stacks, i / 3, (uint32_t)stacks_frame(stacks, &frame));
    }
    for (size_t i = 0; i < sizeof(writing->steps_ns) / sizeof(*writing->steps_ns); i++)
        writing->steps_ns[i] = (int64_t)pow(10, 2 + (double)i / 1024);
}

static int write_batch(struct writing *writing, uint32_t thread)
{
    struct event events[BATCH] = {0};
    for (uint32_t i = 0; i < BATCH; i++) {
        uint64_t draw = next_random();
        uint32_t *depth = &writing->depth[thread];
        bool push = *depth == 0 || (*depth < DEPTH && draw & 1);
        events[i].thread = thread;
        events[i].time_ns = writing->now_ns[thread] += writing->steps_ns[draw >> 8 & 4095];
        events[i].kind = push ? EVENT_PUSH : EVENT_POP;
        events[i].name = push ? writing->names[(draw >> 32) % NAMES] : 0;
        *depth += push ? 1 : UINT32_MAX;
        events[i].depth = push ? 0 : *depth;
    }
    const struct event_batch batch = {.thread = thread, .count = BATCH, .events = events};
    const struct sample sample = {.set = SAMPLE_SET_CPU,
                                  .thread = thread,
                                  .time_ns = writing->now_ns[thread],
                                  .stack = 1 + (uint32_t)(next_random() % (STACKS - 1)),
                                  SAMPLE_VALUES(10101010)};
    int error = store_writer_add(writing->writer, &batch);
    return error || next_random() % 2 ? error
                                      : store_writer_add_samples(writing->writer, &sample, 1);
}

static int64_t write_recording(const char *path, uint64_t size)
{
    static struct writing writing;
    const struct store_writer_options options = {.overwrite = true};
    make_trace(&writing);
    int error = store_writer_create(path, writing.trace, &options, &writing.writer);
    for (uint64_t i = 0; !error && store_writer_file_bytes(writing.writer) < size; i++)
        error = write_batch(&writing, (uint32_t)(i % THREADS));
    if (error || store_writer_close(writing.writer) != 0)
        exit(1);
    trace_destroy(writing.trace);
    return writing.now_ns[0];
}

static int take(void *context, const struct item *item)
{
    *(uint64_t *)context += item->kind != ITEM_SAMPLE;
    return -ECANCELED;
}

/* Milliseconds to open, and to the first item from there on. */
static void measure(const char *path, const struct pass_selection *selection, double *ret_open_ms,
                    double *ret_first_ms)
{
    struct store_reader *reader;
    uint64_t items = 0;
    int64_t begin_ns = clock_now_ns();
    if (store_reader_open(path, &reader) != 0)
        exit(1);
    int64_t opened_ns = clock_now_ns();
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {take, &items, WANT_EVENTS | WANT_SAMPLES | WANT_PATHS | WANT_TIMES};
    if (pass_read(&source, selection, &sink, 1) != -ECANCELED)
        exit(1);
    *ret_open_ms = (double)(opened_ns - begin_ns) / 1e6;
    *ret_first_ms = (double)(clock_now_ns() - begin_ns) / 1e6;
    store_reader_close(reader);
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    uint64_t mebibytes = argc > 1 + json ? strtoull(argv[1 + json], NULL, 10) : 1024;
    const char *folder = getenv("TMPDIR");
    char path[4096];
    struct pass_selection selection = PASS_SELECT_ALL;
    double worst_ms = 0, sum_ms = 0, worst_open_ms = 0, inside_ms, opened_ms;
    snprintf(path, sizeof(path), "%s/bench_seek.%d.annot", folder ? folder : "/tmp", getpid());
    int64_t end_ns = write_recording(path, mebibytes << 20);
    for (unsigned i = 0; i <= PLACES; i++) {
        double open_ms, first_ms, part = (i + 0.5) / (PLACES + 1.0);
        selection.from_ns = 1000000000 + (int64_t)((double)(end_ns - 1000000000) * part);
        measure(path, &selection, &open_ms, &first_ms);
        if (i == 0)
            continue; /* it warms the file up */
        worst_ms = first_ms > worst_ms ? first_ms : worst_ms;
        worst_open_ms = open_ms > worst_open_ms ? open_ms : worst_open_ms;
        sum_ms += first_ms;
    }
    selection.from_ns = 1000000000 + (end_ns - 1000000000) / 2;
    selection.range = "range 1";
    measure(path, &selection, &opened_ms, &inside_ms);
    unlink(path);
    printf(json ? "{\"seek_mebibytes\":%llu,\"seek_open_ms\":%.1f,\"seek_mean_ms\":%.1f,"
                  "\"seek_worst_ms\":%.1f,\"seek_inside_ms\":%.1f}\n"
                : "%llu MiB: opened in %.1f ms at most; first result after %.1f ms on average, "
                  "%.1f ms at most; inside of a range of a name, half way, after %.0f ms\n",
           (unsigned long long)mebibytes, worst_open_ms, sum_ms / PLACES, worst_ms, inside_ms);
    return 0;
}
