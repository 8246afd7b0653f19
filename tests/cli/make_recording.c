/* SPDX-License-Identifier: MIT */
/* Writes recordings with known contents through the store's writer, for golden tests of `annot`.
 *
 *     make_recording SHAPE FILE
 *
 * Shapes: pipeline (a pool of three workers), losses (gaps, a killed process, refusals, misuse, a
 * nested session), recorder (overwritten records), deep (nested 200 levels), many (300 paths),
 * names (untrusted bytes), busy (a million events, for speed), paths (a distinct one for nearly
 * each range), nothing (no events), counted (by eBPF, with waits and a loss), unsampled (the same
 * without rights), cut (pipeline without its end mark), newer (of a future format), heap,
 * heap-more, hostile, sampled, served and sets (those of tests/lib/), profiled (ranges, samples and
 * stretches off the CPU with known sums), script (an unannotated program, sampled), blind (sampled,
 * without a sample), deadlock (two threads that wait for each other to the end), untold and lossy
 * (few and many samples are lost), missing (a loss of each kind), build (a script of many short
 * processes), threads (with names from different sources), called, called-sums and called-adaptive
 * (tests/lib/calls_trace.c), lined (counted lines), small-host (two threads and one processor),
 * large-host (one and eight). */
#include "make_recording.h"
#include "made_sample.h"
#include "writer.h"

#include "calls_trace.h"
#include "format.h"
#include "hash.h"
#include "heap_trace.h"
#include "hostile_trace.h"
#include "lines_trace.h"
#include "sampled_trace.h"
#include "served_trace.h"
#include "sets_trace.h"
#include "stacks.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 4096 };

struct trace *trace;
struct store_writer *writer;
static struct event events[EVENTS_MAX];
static uint32_t event_count, present_thread;

void require(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "make_recording: %s: %s\n", what, strerror(-rc));
    exit(1);
}

uint32_t string(const char *text)
{
    return (uint32_t)trace_string_add(trace, text, strlen(text));
}

void flush(void)
{
    struct event_batch batch = {.thread = present_thread, .count = event_count, .events = events};
    static uint32_t sequence;
    batch.source.sequence = sequence++;
    batch.source.end_offset = event_count * 16;
    struct trace_thread *thread = trace_thread(trace, present_thread);
    if (!event_count)
        return;
    if (!thread->event_count)
        thread->first_ns = events[0].time_ns;
    thread->last_ns = events[event_count - 1].time_ns;
    thread->event_count += event_count;
    thread->revision++;
    trace_process(trace, thread->process)->event_count += event_count;
    trace_process(trace, thread->process)->revision++;
    require(store_writer_add(writer, &batch), "add");
    event_count = 0;
}

struct event *add(uint32_t thread, enum event_kind kind, const char *name, int64_t time_ns)
{
    if (event_count == EVENTS_MAX || thread != present_thread)
        flush();
    present_thread = thread;
    struct event *event = &events[event_count++];
    *event = (struct event){.time_ns = time_ns, .thread = thread, .kind = (uint8_t)kind};
    event->name = name ? string(name) : 0;
    return event;
}

void pop(uint32_t thread, uint64_t depth, int64_t time_ns)
{
    add(thread, EVENT_POP, NULL, time_ns)->depth = depth;
}

void range(uint32_t thread, const char *name, uint64_t depth, int64_t from, int64_t to)
{
    add(thread, EVENT_PUSH, name, from);
    pop(thread, depth, to);
}

uint32_t add_process(int pid, int32_t parent, const char *cmdline, int64_t start_ns)
{
    uint32_t ordinal = (uint32_t)trace_process_add(trace);
    struct trace_process *process = trace_process(trace, ordinal);
    process->pid = process->ns_pid = pid;
    process->ppid = parent < 0 ? 1 : trace_process(trace, (uint32_t)parent)->pid;
    process->parent = parent;
    process->identity = 1000 + ordinal;
    process->start_ns = start_ns;
    process->forked = parent >= 0;
    process->fork_ns = parent >= 0 ? start_ns : 0;
    process->cmdline = string(cmdline);
    process->comm = string("python3");
    process->peak_bytes = 262144;
    return ordinal;
}

uint32_t add_thread(uint32_t process, int tid, const char *name)
{
    uint32_t ordinal = (uint32_t)trace_thread_add(trace, process);
    struct trace_thread *thread = trace_thread(trace, ordinal);
    thread->serial = 1;
    thread->tid = tid;
    thread->name = name ? string(name) : 0;
    thread->comm = string("python3");
    return ordinal;
}

void end_process(uint32_t ordinal, enum process_end end, int value, int64_t end_ns)
{
    struct trace_process *process = trace_process(trace, ordinal);
    process->end = (uint8_t)end;
    process->end_value = value;
    process->end_ns = end_ns;
    process->revision++;
}

static void begin(const char *path, const char *shape, const char *command, int64_t end_ns)
{
    struct store_writer_options options = {.overwrite = true};
    if (strcmp(shape, "volumes") == 0)
        options.volume_bytes = 50000;
    trace = trace_create();
    require(trace ? 0 : -12, "trace");
    struct trace_session *session = trace_session(trace);
    session->revision = 1;
    session->id = 7;
    session->hostname = string("builder");
    session->kernel = string("Linux 6.1.0");
    session->command = string(command);
    session->annot_version = string("annot 0.1.0");
    session->clock = string("tsc");
    session->end_ns = end_ns;
    session->begin_realtime_ns = 1700000000000000000;
    session->command_status = 0;
    session->peak_bytes = 3 << 20;
    require(store_writer_create(path, trace, &options, &writer), path);
}

const char command_line[] = "python3 pipeline.py --jobs 3";

/* 12 files of different sizes through 3 workers; the main thread waits for them. */
static void make_workers(uint32_t parent)
{
    for (int worker = 0; worker < 3; worker++) {
        int64_t now = (30 + worker) * ms;
        uint32_t process = add_process(201 + worker, (int32_t)parent, command_line, now);
        uint32_t thread = add_thread(process, 201 + worker, NULL);
        for (int file = 0; file < 4; file++) {
            int64_t cost = (20 + 7 * ((worker * 4 + file) % 5)) * ms;
            add(thread, EVENT_PUSH, "file", now);
            range(thread, "read", 1, now + ms, now + 3 * ms);
            range(thread, "parse", 1, now + 3 * ms, now + cost / 4);
            add(thread, EVENT_PUSH, "analyse", now + cost / 4);
            range(thread, "tokens", 2, now + cost / 4 + ms, now + cost / 2);
            pop(thread, 1, now + cost - ms);
            pop(thread, 0, now + cost);
            add(thread, EVENT_MARK, "file done", now + cost);
            now += cost + ms / 4;
        }
        end_process(process, PROCESS_EXITED, 0, now + ms);
    }
}

static void make_pipeline(void)
{
    uint32_t process = add_process(200, -1, command_line, 1 * ms);
    uint32_t main_thread = add_thread(process, 200, NULL);
    uint32_t feeder = add_thread(process, 210, "feeder");
    add(main_thread, EVENT_PUSH, "pipeline", 2 * ms);
    range(main_thread, "discover", 1, 3 * ms, 25 * ms);
    add(main_thread, EVENT_PUSH, "pool", 26 * ms);
    make_workers(process);
    for (int i = 0; i < 12; i++) {
        struct event *event = add(main_thread, EVENT_COUNTER, "files done", (50 + 12 * i) * ms);
        event->value_kind = VALUE_INT64;
        event->value.int64 = i + 1;
    }
    for (uint64_t i = 1; i <= 3; i++)
        add(feeder, EVENT_START, "request", (30 + 10 * (int64_t)i) * ms)->id = i;
    for (uint64_t i = 1; i <= 3; i++)
        add(feeder, EVENT_END, NULL, (90 + 20 * (int64_t)i) * ms)->id = i;
    pop(main_thread, 1, 195 * ms);
    range(main_thread, "write", 1, 196 * ms, 199 * ms + 500);
    pop(main_thread, 0, 200 * ms);
    end_process(process, PROCESS_EXITED, 0, 201 * ms);
}

static void make_losses(void)
{
    uint32_t process = add_process(300, -1, "./server --port 80", 1 * ms);
    uint32_t child = add_process(301, (int32_t)process, "./server --port 80", 5 * ms);
    uint32_t thread = add_thread(process, 300, NULL), other = add_thread(child, 301, "io");
    add(thread, EVENT_PUSH, "serve", 2 * ms);
    add(thread, EVENT_PUSH, "accept", 3 * ms);
    struct event *gap = add(thread, EVENT_LOST, NULL, 5 * ms);
    gap->end_ns = 9 * ms;
    gap->value.uint64 = 1234;
    gap->level = LOSS_POOL_FULL;
    gap->depth = 1;
    range(thread, "accept", 1, 10 * ms, 12 * ms);
    add(other, EVENT_PUSH, "write", 6 * ms);
    trace_thread(trace, thread)->lost[LOSS_POOL_FULL] = 1234;
    trace_process(trace, process)->lost[LOSS_POOL_FULL] = 1234;
    trace_process(trace, process)->lost[LOSS_INTERRUPTED] = 1;
    trace_process(trace, process)->misuse[MISUSE_POP_EMPTY] = 2;
    trace_process(trace, process)->misuse[MISUSE_END_FOREIGN] = 1;
    trace_process(trace, child)->misuse[MISUSE_NAME_LEFT] = 12345;
    end_process(process, PROCESS_EXITED, 3, 90 * ms);
    end_process(child, PROCESS_SIGNALED, 9, 50 * ms);
    struct trace_refusal refusal = {.pid = 302, .comm = string("worker")};
    refusal.reason = string("another user's process (uid 1000) may not write here");
    require((int)trace_refusal_add(trace, &refusal), "refusal");
    struct trace_session *session = trace_session(trace);
    session->nested = string("inner-1.annot\ninner-2.annot");
    session->recovered = true;
    session->command_status = 9;
}

/* A range that was opened before the oldest remaining record. */
static void make_recorder(void)
{
    uint32_t process = add_process(310, -1, "./server", 1 * ms);
    uint32_t thread = add_thread(process, 310, NULL);
    struct event *gap = add(thread, EVENT_LOST, NULL, 1 * ms);
    gap->end_ns = 60 * ms;
    gap->value.uint64 = 123456;
    gap->level = LOSS_OVERWRITTEN;
    add(thread, EVENT_PUSH, "serve", 2 * ms);
    range(thread, "request", 1, 61 * ms, 62 * ms);
    trace_thread(trace, thread)->lost[LOSS_OVERWRITTEN] = 123456;
    trace_process(trace, process)->lost[LOSS_OVERWRITTEN] = 123456;
    require(trace_fact_set(trace, FACT_COUNT, TRACE_FACT_OVERWRITE, 1), "fact");
    require(trace_fact_set(trace, FACT_COUNT, TRACE_FACT_WAIT, 2), "fact");
}

static void make_deep(void)
{
    uint32_t thread = add_thread(add_process(400, -1, "./deep", ms), 400, NULL);
    for (int64_t i = 0; i < 200; i++)
        add(thread, EVENT_PUSH, "f", 2 * ms + i);
    for (int64_t i = 200; i-- > 0;)
        pop(thread, (uint64_t)i, 3 * ms - i);
}

static void make_many(void)
{
    uint32_t thread = add_thread(add_process(500, -1, "./many", ms), 500, NULL);
    for (int64_t i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof(name), "step number %d of a job with a long name", (int)i);
        range(thread, name, 0, (1 + i) * ms / 2, (1 + i) * ms / 2 + 1000 * (i + 1));
    }
}

static void make_names(void)
{
    uint32_t thread = add_thread(add_process(600, -1, "sh -c 'echo \033[2J'", ms), 600, "\a\n");
    range(thread, "red \033[31malert\n2", 0, 2 * ms, 3 * ms);
    range(thread, "größe", 0, 4 * ms, 5 * ms);
    range(thread, "読み込み", 0, 6 * ms, 7 * ms);
    range(thread, "bad \xff\xfe bytes", 0, 8 * ms, 9 * ms);
    range(thread, "", 0, 10 * ms, 11 * ms);
    add(thread, EVENT_PUSH, "a/b", 12 * ms)->scope =
        (uint32_t)trace_scope_of_domain(trace, string("nvtx"));
    pop(thread, 0, 13 * ms);
}

static void make_busy(void)
{
    static const char *const names[] = {"load", "parse", "walk", "emit", "sort"};
    uint32_t thread = add_thread(add_process(700, -1, "./busy", 0), 700, NULL);
    int64_t now = 1000;
    for (int i = 0; i < 250000; i++) {
        add(thread, EVENT_PUSH, names[i % 5], now);
        range(thread, names[(i / 5) % 5], 1, now + 100, now + 300 + i % 97);
        pop(thread, 0, now + 500);
        now += 600;
    }
}

/* More than a million ranges of one name. */
static void make_crowded(void)
{
    uint32_t thread = add_thread(add_process(700, -1, "./crowded", 0), 700, NULL);
    range(thread, "load", 0, 1000, 50000000);
    for (int64_t i = 0, now = 60000000; i < 1234567; i++, now += 100)
        range(thread, "tick", 0, now, now + 90);
}

/* Nearly each range has a distinct path. */
static void make_paths(void)
{
    static const char *const names[] = {"load", "parse", "walk", "emit", "sort", "hash", "merge"};
    uint32_t thread = add_thread(add_process(700, -1, "./paths", 0), 700, NULL);
    uint32_t depth = 0, random = 1;
    for (int i = 0; i < 10000; i++) {
        random = random * 1664525u + 1013904223u;
        if (depth > 0 && (depth == 12 || random >> 31)) {
            pop(thread, --depth, 1000 + 100ll * i);
        } else {
            add(thread, EVENT_PUSH, names[(random >> 16) % 7], 1000 + 100ll * i);
            depth++;
        }
    }
}

static uint32_t push_frame(uint32_t parent, enum frame_kind kind, const char *name)
{
    const struct maker_frame frame = {.kind = kind,
                                      .function = name,
                                      .file = kind == FRAME_PYTHON ? "pipeline.py" : NULL,
                                      .module = kind == FRAME_NATIVE ? "/usr/lib/libc.so.6" : NULL};
    return (uint32_t)stacks_push(trace_stacks(trace), parent, maker_frame_of(trace, &frame));
}

static void describe_sampling(enum sampling_rung rung, const char *reason, const char *hint)
{
    struct trace_sampling *sampling = trace_sampling(trace);
    *sampling = (struct trace_sampling){.revision = sampling->revision + 1,
                                        .rung = (uint8_t)rung,
                                        .off_cpu = rung == SAMPLING_BPF,
                                        .frequency_hz = 99,
                                        .off_cpu_threshold_ns = 10000,
                                        .reason = string(reason),
                                        .hint = string(hint)};
}

/* Nine samples of ten are complete; every third thread switch is reported. */
static void make_counted(void)
{
    uint32_t thread = add_thread(add_process(800, -1, "python3 pipeline.py", ms), 800, NULL);
    uint32_t path = (uint32_t)stacks_path(trace_stacks(trace), 0, string("load"));
    uint32_t caller = push_frame(push_frame(0, FRAME_NATIVE, "main"), FRAME_PYTHON, "read");
    uint32_t leaf = push_frame(caller, FRAME_NATIVE, "memcpy");
    describe_sampling(SAMPLING_BPF, "", "");
    range(thread, "load", 0, 2 * ms, 150 * ms);
    flush();
    for (int i = 0; i < 10; i++) {
        struct sample samples[2] = {
            {.time_ns = (5 + 10 * i) * ms, .thread = thread, .stack = leaf},
            {.time_ns = (7 + 10 * i) * ms,
             .thread = thread,
             .stack = caller,
             .reason = WAIT_PIPE,
             .end_ns = (9 + 10 * i) * ms},
        };
        samples[0] = made_cpu(samples[0], 10101010);
        samples[1] = made_wait(samples[1], 0);
        samples[0].path = i < 8 ? path : 0;
        samples[0].native_end = i == 9 ? STACK_NO_TABLE : STACK_COMPLETE;
        samples[0].python_end = i == 8 ? STACK_NO_THREAD : STACK_COMPLETE;
        samples[1].native_end = samples[1].python_end = STACK_COMPLETE;
        require(store_writer_add_samples(writer, samples, i % 3 == 0 ? 2 : 1), "samples");
    }
    trace_fact_set(trace, FACT_COUNT, "nanoseconds a sample", 1900);
    trace_fact_set(trace, FACT_LOSS, "samples lost: ring full", 3);
    trace_fact_set(trace, FACT_NOTE, "1 file could not be read: its frames have no names", 1);
}

static void make_unsampled(void)
{
    uint32_t thread = add_thread(add_process(800, -1, "python3 pipeline.py", ms), 800, NULL);
    describe_sampling(SAMPLING_NONE, "bpf: Operation not permitted", "sudo setcap ... annot");
    range(thread, "load", 0, 2 * ms, 150 * ms);
}

/* A recording of a future annot: another major number with a valid checksum. */
static void make_newer(const char *path)
{
    struct store_file_header header;
    FILE *file = fopen(path, "r+b");
    require(file && fread(&header, sizeof(header), 1, file) == 1 ? 0 : -5, "header");
    header.major = STORE_VERSION_MAJOR + 1;
    header.crc = checksum_crc32c(0, &header, offsetof(struct store_file_header, crc));
    rewind(file);
    require(fwrite(&header, sizeof(header), 1, file) == 1 && fclose(file) == 0 ? 0 : -5, "header");
}

static int write_made(struct maker *maker, const char *path)
{
    struct store_writer_options options = {.overwrite = true};
    const struct sample *samples;
    struct event_batch batch;
    uint32_t count;
    require(store_writer_create(path, maker_trace(maker), &options, &writer), path);
    while (maker_next(maker, &batch) > 0)
        require(store_writer_add(writer, &batch), "add");
    while (maker_next_samples(maker, &samples, &count) > 0)
        require(store_writer_add_samples(writer, samples, count), "add samples");
    require(store_writer_close(writer), "close");
    maker_destroy(maker);
    return 0;
}

struct shape {
    const char *name, *command;
    int64_t end_ms;
    void (*make)(void);
};

static void make_nothing(void)
{
}

static const struct {
    const char *name;
    struct maker *(*create)(void);
} made[] = {
    {"heap", heap_trace_create},       {"heap-more", heap_trace_more_create},
    {"hostile", hostile_trace_create}, {"lined", lines_trace_create},
    {"sampled", sampled_trace_create}, {"served", served_trace_create},
    {"sets", sets_trace_create},
};

int main(int argc, char **argv)
{
    static const struct shape shapes[] = {
        {"pipeline", command_line, 202, make_pipeline},
        {"cut", command_line, 202, make_pipeline},
        {"losses", "./server --port 80", 100, make_losses},
        {"recorder", "./server", 100, make_recorder},
        {"deep", "./deep", 4, make_deep},
        {"many", "./many", 160, make_many},
        {"names", "sh -c 'echo \033[2J'", 20, make_names},
        {"busy", "./busy", 200, make_busy},
        {"crowded", "./crowded", 200, make_crowded},
        {"paths", "./paths", 200, make_paths},
        {"volumes", "./busy", 200, make_busy},
        {"nothing", "true", 1, make_nothing},
        {"counted", "python3 pipeline.py", 160, make_counted},
        {"unsampled", "python3 pipeline.py", 160, make_unsampled},
        {"newer", "true", 1, make_nothing},
        {"profiled", command_line, 120, make_profiled},
        {"script", "python3 train.py", 500, make_script},
        {"blind", "true", 3, make_blind},
        {"deadlock", "./deadlock", 2000, make_deadlock},
        {"untold", "./server", 2000, make_untold},
        {"lossy", "./server", 2000, make_lossy},
        {"missing", "./server", 2000, make_missing},
        {"build", "sh build.sh", 1100, make_build},
        {"threads", "python3 server.py", 200, make_threads},
        {"calls", "python3 solver.py", 120, make_calls},
        {"small-host", "solve", 1000, make_small_host},
        {"large-host", "solve", 1000, make_large_host},
    };
    for (size_t i = 0; argc == 3 && i < sizeof(made) / sizeof(*made); i++)
        if (strcmp(argv[1], made[i].name) == 0)
            return write_made(made[i].create(), argv[2]);
    if (argc == 3 && strncmp(argv[1], "called", 6) == 0)
        return write_made(calls_trace_create(strcmp(argv[1], "called") == 0 ? CALLS_TRACE_EXACT
                                             : strcmp(argv[1], "called-sums") == 0
                                                 ? CALLS_TRACE_COUNTED
                                                 : CALLS_TRACE_ADAPTIVE),
                          argv[2]);
    for (size_t i = 0; argc == 3 && i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (strcmp(argv[1], shapes[i].name) != 0)
            continue;
        begin(argv[2], argv[1], shapes[i].command, shapes[i].end_ms * ms);
        shapes[i].make();
        flush();
        if (strcmp(argv[1], "cut") == 0) {
            require(store_writer_flush(writer), "flush");
            store_writer_abandon(writer);
        } else {
            require(store_writer_close(writer), "close");
        }
        if (strcmp(argv[1], "newer") == 0)
            make_newer(argv[2]);
        trace_destroy(trace);
        return 0;
    }
    fprintf(stderr, "usage: make_recording SHAPE FILE\n");
    return 2;
}
