/* SPDX-License-Identifier: MIT */
/* The cost of a recording: bytes a record, CPU time to write, read and pair it.
 *
 *     bench_store [--json] [EVENTS]
 *
 * Streams: `varied` has ranges of 100 ns to 1 ms (evenly spread over the orders of magnitude) with
 * 20 names, nested up to 8 deep, and one counter or payload in 16 records; `tight` is one range in
 * a loop of about 20 ns; `calls` are those of a program in Python of 224 functions, each of which
 * calls the same ones each time, to a depth of 24, and takes 50 to 400 ns; `flows` begin and end,
 * `tracks` has ranges on 100,000 tracks in turn, `values` marks with three key-values (a number
 * that counts, one of any size, one of 20 texts), all with times as `varied`. Batches are as a
 * block gives them; a key-value is no record. CPU time is that of this process. */
#include "pass.h"
#include "reader.h"
#include "stacks.h"
#include "writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 500,
    BATCHES = 400,
    THREADS = 8,
    NAMES = 20,
    TRACKS = 100000,
    EVENT_VALUES = 3,
    FUNCTIONS = 224,
    CALL_DEPTH = 24,
    RUNS = 3
};

struct stream {
    const char *name;
    void (*fill)(struct event *events, uint32_t count, uint32_t thread);
    uint32_t track_count;
};

struct result {
    double write_ns, read_ns, pair_ns; /* per record, best of RUNS */
    double bytes;                      /* per record */
    uint64_t ranges;
};

static struct event pool[BATCHES][BATCH];
static struct arg pool_args[(size_t)BATCHES * BATCH * EVENT_VALUES];
static int64_t clock_ns[THREADS];
static uint64_t depth[THREADS];
static uint32_t names[NAMES], call_names[FUNCTIONS], calls_scope;
static uint8_t called[THREADS][CALL_DEPTH];     /* the functions that are open */
static uint8_t calls_made[THREADS][CALL_DEPTH]; /* by each of them */
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int64_t varied_step(void)
{
    double exponent = 2 + 4 * (double)(next_random() >> 11) / 9007199254740992.0;
    return (int64_t)pow(10, exponent);
}

static void add_detail(struct event *event)
{
    switch (next_random() % 32) {
    case 0:
        event->kind = EVENT_COUNTER;
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = (double)(next_random() % 1000);
        break;
    case 1:
        event->value_kind = VALUE_INT64;
        event->value.int64 = (int64_t)(next_random() % 100000);
        break;
    default:
        break;
    }
}

static void fill_varied(struct event *events, uint32_t count, uint32_t thread)
{
    for (uint32_t i = 0; i < count; i++) {
        struct event *event = &events[i];
        *event = (struct event){.thread = thread, .time_ns = clock_ns[thread] += varied_step()};
        bool push = depth[thread] == 0 || (depth[thread] < 8 && next_random() % 2);
        event->kind = push ? EVENT_PUSH : EVENT_POP;
        if (push) {
            event->name = names[next_random() % NAMES];
            add_detail(event);
        } else {
            event->depth = depth[thread] - 1;
        }
        depth[thread] = event_depth_after(event, depth[thread]);
    }
}

static void fill_tight(struct event *events, uint32_t count, uint32_t thread)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t step = 9 + (int64_t)(next_random() % 64 == 0) * 30 + (int64_t)(next_random() % 3);
        events[i] = (struct event){.thread = thread, .time_ns = clock_ns[thread] += step};
        events[i].kind = i % 2 == 0 ? EVENT_PUSH : EVENT_POP;
        events[i].name = i % 2 == 0 ? names[0] : 0;
    }
}

/* A call of a Python function takes longer than reading the clock, and varies by a third. */
static int64_t call_step(uint32_t function)
{
    uint64_t least = 50 + function * 7 % 250;
    return (int64_t)(least + next_random() % (least / 3));
}

static void fill_calls(struct event *events, uint32_t count, uint32_t thread)
{
    uint8_t *open = called[thread], *made = calls_made[thread];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *at = &depth[thread];
        uint32_t caller = *at ? open[*at - 1] : 0;
        bool push = *at == 0 || (*at < CALL_DEPTH && made[*at - 1] < caller * 13 % 5);
        struct event *event = &events[i];
        *event = (struct event){.thread = thread, .kind = push ? EVENT_PUSH : EVENT_POP};
        event->time_ns = clock_ns[thread] += call_step(caller);
        if (push) {
            uint32_t place = *at ? made[*at - 1]++ : (uint32_t)(next_random() % 8);
            open[*at] = (uint8_t)((caller * 31 + place * 17 + 1) % FUNCTIONS);
            made[*at] = 0;
            event->name = call_names[open[(*at)++]];
            event->scope = calls_scope;
            event->level = 4;
        } else {
            event->depth = --*at;
        }
    }
}

/* Ids follow one another, as those of one process do. */
static void fill_flows(struct event *events, uint32_t count, uint32_t thread)
{
    static uint64_t flow = UINT64_C(0xabcde) << 44;
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (struct event){.thread = thread, .time_ns = clock_ns[thread] += varied_step()};
        events[i].kind = i % 2 == 0 ? EVENT_FLOW_BEGIN : EVENT_FLOW_END;
        events[i].name = i % 2 == 0 ? names[0] : 0;
        events[i].id = flow += i % 2 == 0;
    }
}

static void fill_tracks(struct event *events, uint32_t count, uint32_t thread)
{
    static uint32_t track;
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (struct event){.thread = thread, .time_ns = clock_ns[thread] += varied_step()};
        events[i].kind = i % 2 == 0 ? EVENT_TRACK_BEGIN : EVENT_TRACK_END;
        events[i].name = i % 2 == 0 ? names[next_random() % NAMES] : 0;
        events[i].lane = i % 2 == 0 ? (track = (track + 1) % TRACKS) : track;
    }
}

/* Marks with three key-values each. */
static void fill_values(struct event *events, uint32_t count, uint32_t thread)
{
    static int64_t number;
    static uint32_t filled;
    uint32_t first = filled++ % BATCHES * BATCH;
    for (uint32_t i = 0; i < count; i++) {
        struct arg *args = &pool_args[(first + i) * EVENT_VALUES];
        events[i] = (struct event){.kind = EVENT_MARK,
                                   .thread = thread,
                                   .time_ns = clock_ns[thread] += varied_step(),
                                   .name = names[0],
                                   .args = (first + i) * EVENT_VALUES,
                                   .arg_count = EVENT_VALUES};
        args[0] = (struct arg){names[1], VALUE_INT64, {.int64 = number++}};
        args[1] = (struct arg){names[2], VALUE_INT64, {.uint64 = next_random() % 100000}};
        args[2] = (struct arg){names[3], VALUE_STRING, {.uint64 = names[next_random() % NAMES]}};
    }
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench_store: %s\n", strerror(-status));
        exit(1);
    }
}

static struct trace *make_trace(uint32_t track_count)
{
    struct trace *trace = trace_create();
    must(trace ? 0 : -12);
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "phase %d", i);
        names[i] = (uint32_t)trace_string_add(trace, name, (size_t)length);
    }
    for (int i = 0; i < FUNCTIONS; i++) {
        int64_t label = trace_python_label(trace, names[i % NAMES], names[0], i + 1);
        call_names[i] = (uint32_t)trace_label_name(trace, (uint32_t)label);
    }
    calls_scope =
        (uint32_t)trace_scope_add(trace, &(struct scope){.observer = OBSERVER_PYTHON_CALLS});
    must((int)trace_process_add(trace));
    for (int i = 0; i < THREADS; i++)
        must((int)trace_thread_add(trace, 0));
    for (uint32_t i = 0; i < track_count; i++) {
        must((int)trace_lane_add(trace, (UINT64_C(0xabcde) << 44) + i));
        trace_lane(trace, i)->name = names[i % NAMES];
    }
    return trace;
}

/* The pool is refilled outside the measured time, so that times keep increasing. */
static double write_once(const char *path, const struct trace *trace, const struct stream *stream,
                         uint64_t rounds, uint64_t *ret_bytes)
{
    struct store_writer *writer;
    double seconds = 0;
    uint32_t sequence = 0;
    must(store_writer_create(path, trace, &(struct store_writer_options){.overwrite = true},
                             &writer));
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < BATCHES; i++)
            stream->fill(pool[i], BATCH, i % THREADS);
        double begin = cpu_seconds();
        for (uint32_t i = 0; i < BATCHES; i++) {
            struct event_batch batch = {i % THREADS, BATCH,     pool[i], {sequence++, 0, 8000},
                                        0,           pool_args, 0,       0};
            must(store_writer_add(writer, &batch));
        }
        seconds += cpu_seconds() - begin;
    }
    double begin = cpu_seconds();
    must(store_writer_flush(writer));
    *ret_bytes = store_writer_file_bytes(writer);
    must(store_writer_close(writer));
    return seconds + cpu_seconds() - begin;
}

static int count_span(void *context, const struct item *item)
{
    *(uint64_t *)context += item->kind == ITEM_SPAN && item->lane != LANE_PROCESS;
    return 0;
}

static double read_once(const char *path, bool pair, uint64_t *ret_count)
{
    struct store_reader *reader;
    struct event_batch batch;
    double begin = cpu_seconds();
    int status = store_reader_open(path, &reader);
    must(status);
    *ret_count = 0;
    if (pair) {
        const struct pass_source source = recording_pass_source(reader);
        const struct sink sink = {count_span, ret_count, WANT_EVENTS};
        status = pass_read(&source, &PASS_SELECT_ALL, &sink, 1);
    } else {
        while ((status = store_reader_next(reader, &batch)) == 1)
            *ret_count += batch.count;
    }
    must(status);
    store_reader_close(reader);
    return cpu_seconds() - begin;
}

static struct result measure(const struct stream *stream, const char *path, uint64_t rounds)
{
    struct result result = {1e9, 1e9, 1e9, 0, 0};
    double records = (double)rounds * BATCHES * BATCH;
    for (int run = 0; run < RUNS; run++) {
        struct trace *trace = make_trace(stream->track_count);
        uint64_t bytes, count;
        memset(depth, 0, sizeof(depth));
        memset(clock_ns, 0, sizeof(clock_ns));
        double write = write_once(path, trace, stream, rounds, &bytes) * 1e9 / records;
        double read = read_once(path, false, &count) * 1e9 / records;
        if ((double)count != records) {
            fprintf(stderr, "bench_store: %llu events read\n", (unsigned long long)count);
            exit(1);
        }
        double pair = read_once(path, true, &result.ranges) * 1e9 / records;
        result.write_ns = write < result.write_ns ? write : result.write_ns;
        result.read_ns = read < result.read_ns ? read : result.read_ns;
        result.pair_ns = pair - read < result.pair_ns ? pair - read : result.pair_ns;
        result.bytes = (double)bytes / records;
        trace_destroy(trace);
    }
    return result;
}

static void show(const struct stream *stream, const struct result *result, bool json)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(json ? "{\"bench\":\"store\",\"stream\":\"%s\",\"bytes_per_record\":%.2f,"
                  "\"write_ns\":%.2f,\"read_ns\":%.2f,\"pair_ns\":%.2f,\"ranges\":%llu,"
                  "\"peak_kib\":%ld}\n"
                : "%-8s %5.2f bytes a record; a record costs %5.1f ns to write, %5.1f ns to "
                  "read, %5.1f ns to pair; %llu ranges, peak %ld KiB\n",
           stream->name, result->bytes, result->write_ns, result->read_ns, result->pair_ns,
           (unsigned long long)result->ranges, usage.ru_maxrss);
}

int main(int argc, char **argv)
{
    static const struct stream streams[] = {
        {"varied", fill_varied, 0}, {"tight", fill_tight, 0},        {"calls", fill_calls, 0},
        {"flows", fill_flows, 0},   {"tracks", fill_tracks, TRACKS}, {"values", fill_values, 0}};
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const char *count = argc > 1 + json ? argv[1 + json] : "4000000";
    uint64_t rounds = strtoull(count, NULL, 10) / (BATCHES * BATCH);
    char path[64];
    snprintf(path, sizeof(path), "/tmp/bench-store-%d.annot", (int)getpid());
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        struct result result = measure(&streams[i], path, rounds ? rounds : 1);
        show(&streams[i], &result, json);
    }
    unlink(path);
    return 0;
}
