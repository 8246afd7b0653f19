/* SPDX-License-Identifier: MIT */
/* Writes the corpus of fuzz_store: `make_store_corpus FOLDER`. Run it again when the format
 * changes. The seeds are one recording in the three forms that the target accepts. */
#include "format.h"
#include "made_sample.h"
#include "stacks.h"
#include "store.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { THREADS = 2, EVENTS = 100, TRACKS = 5, SCOPES = 4, FILE_MAX = 1 << 20 };

static uint8_t bytes[FILE_MAX];
static struct event events[EVENTS];
static const struct arg args[] = {{1, VALUE_STRING, {.uint64 = 1}},
                                  {2, VALUE_DOUBLE, {.uint64 = 3}},
                                  {2, VALUE_INT64, {.uint64 = 70}},
                                  {1, VALUE_NONE, {0}},
                                  {1, VALUE_BOOL, {.uint64 = 1}}};

/* A text that no output may print unchanged. */
static const char hostile[] = "lo\x1b[2Jad,\"\r\n\t\x7f;<&\xc2\x9b";

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    trace_string_add(trace, hostile, sizeof(hostile) - 1);
    trace_string_add(trace, "parse", 5);
    trace_process_add(trace);
    trace_process_add(trace);
    trace_process(trace, 1)->parent = 0;
    trace_process(trace, 1)->forked = true;
    trace_process(trace, 0)->cmdline = (uint32_t)trace_string_add(trace, "python3 a.py", 12);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_thread_add(trace, i);
    struct stacks *stacks = trace_stacks(trace);
    stacks_module(stacks, &(struct code_module){.path = 2, .kind = MODULE_ELF});
    stacks_source(stacks, &(struct source){.path = 2, .content = 1, .hash = {7}});
    for (uint32_t i = 1; i < 6; i++)
        stacks_label(stacks,
                     &(struct label){.text = i % 3, .source = 1, .module = i % 2, .kind = 1});
    for (uint32_t i = 1; i < 4; i++)
        trace_label_name(trace, i);
    struct frame frame = {.kind = FRAME_NATIVE, .label = 1, .module = 1, .address = 4096};
    for (uint32_t i = 1; i < 6; i++, frame.address += 64, frame.kind = (uint8_t)i)
        stacks_push(stacks, i / 2, (uint32_t)stacks_frame(stacks, &frame));
    stacks_path(stacks, (uint32_t)stacks_path(stacks, 0, 1), 2);
    trace_sampling(trace)->rung = SAMPLING_BPF;
    trace_sampling(trace)->revision++;
    trace_fact_set(trace, FACT_LOSS, "ring full", 3);
    for (uint32_t i = 0; i < TRACKS; i++) {
        trace_lane_add(trace, 70 + i * i);
        trace_lane(trace, i)->process = i % 2;
        trace_lane(trace, i)->name = i % 3;
    }
    for (uint32_t i = 0; i + 1 < TRACKS; i++)
        trace_lane_set_parent(trace, i, i + 1);
    trace_unit_set(trace, 1, 2, 3);
    for (uint16_t i = 1; i < SCOPES; i++)
        trace_scope_add(trace, &(struct scope){.domain = i % 3u, .category = i / 2u, .role = i});
    trace_process(trace, 1)->name = trace_session(trace)->command = 1;
    trace_session(trace)->hostname = trace_sampling(trace)->reason = 1;
    trace_thread(trace, 1)->name = trace_thread(trace, 0)->comm = 1;
    trace_refusal_add(trace, &(struct trace_refusal){.pid = 7, .comm = 1, .reason = 1});
    trace_filter_add(trace, &(struct trace_filter){.time_ns = 5, .rules = 1});
    trace_fact_set(trace, FACT_NOTE, hostile, 1);
    trace_process(trace, 1)->note = 2;
    trace_process(trace, 1)->note_thread = 2;
    trace_process(trace, 1)->note_ns = 12345;
    return trace;
}

/* Some events of each kind. */
static void make_events(uint32_t thread, int64_t time_ns)
{
    uint64_t depth = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct event *event = &events[i];
        *event = (struct event){.thread = thread, .time_ns = time_ns += 100 << i % 20};
        event->kind = (uint8_t)(i < 40 ? 1 + i % 3 % 2 : 1 + i % (EVENT_KINDS - 1));
        event->name = event->kind == EVENT_POP ? 0 : 1 + i % 2;
        event->flags = event_can_continue(event->kind) && i % 4 == 0 ? EVENT_CONTINUES : 0;
        event->scope = event->kind == EVENT_POP ? 0 : i % (SCOPES + 1); /* one is unknown */
        if (event->kind == EVENT_POP || event->kind == EVENT_LOST)
            event->depth = depth ? depth - 1 : 0;
        if (event->kind == EVENT_START || event->kind == EVENT_END)
            event->id = 5 + i / 10;
        if (event_has_lane(event->kind))
            event->lane = i % TRACKS;
        else if (event_is_flow(event->kind))
            event->id = UINT64_C(77) << i % 50;
        else if (event->kind == EVENT_COUNTER || i % 7 == 0) {
            event->value_kind = (uint8_t)(1 + i % VALUE_STRING);
            event->value.uint64 = i * 3;
        }
        if (event_is_record(event->kind) && i % 5 == 0) {
            event->args = i % 3;
            event->arg_count = (uint16_t)(1 + i % 3);
        }
        event->end_ns = event->kind == EVENT_LOST ? time_ns + 50 : 0;
        depth = event_depth_after(event, depth);
    }
}

static int add_samples(struct store_writer *writer)
{
    struct sample samples[8] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        samples[i] = (struct sample){.time_ns = 1000 * i,
                                     .end_ns = 1000 * i + 700,
                                     .thread = i % THREADS,
                                     .stack = 1 + i % 5,
                                     .path = i % 3,
                                     .cpu = (uint16_t)(i % 2),
                                     .reason = WAIT_LOCK,
                                     .flags = (uint8_t)(i % 2)};
        samples[i] =
            i % 3 == 2 ? made_wait(samples[i], 1000 * i + 300) : made_cpu(samples[i], 10101010);
    }
    return store_writer_add_samples(writer, samples, 8);
}

static size_t make_recording(const char *path)
{
    struct trace *trace = make_trace();
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true, .checkpoint_bytes = 1};
    if (store_writer_create(path, trace, &options, &writer) != 0)
        exit(1);
    for (uint32_t i = 0; i < 4; i++) {
        make_events(i % THREADS, 1000 + i);
        struct event_batch batch = {i % THREADS, EVENTS, events, {i, 0, 16 * EVENTS},
                                    0,           args,   0,      0};
        if (store_writer_add(writer, &batch) != 0 || add_samples(writer) != 0 ||
            (i % 2 && store_writer_flush(writer) != 0))
            exit(1);
    }
    if (store_writer_close(writer) != 0)
        exit(1);
    trace_destroy(trace);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, FILE_MAX, file) : 0;
    if (file)
        fclose(file);
    remove(path);
    return size;
}

static FILE *create(const char *folder, const char *name, uint8_t form)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fputc(form, file) == EOF)
        exit(1);
    return file;
}

static void save_whole(const char *folder, const char *name, uint8_t form, size_t size)
{
    FILE *file = create(folder, name, form);
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        exit(1);
}

/* The chunks of the recording as a sequence of payloads: type, length, bytes. They are
 * uncompressed, so that a changed byte reaches the decoders. */
static void save_payloads(const char *folder, size_t size)
{
    static uint8_t raw[UINT16_MAX];
    FILE *file = create(folder, "payloads", 2);
    for (size_t at = STORE_HEADER_SIZE; at < size;) {
        struct store_chunk_header header;
        memcpy(&header, bytes + at, sizeof(header));
        const uint8_t *payload = bytes + at + sizeof(header);
        if (header.flags & STORE_FLAG_ZSTD) {
            if (ZSTD_decompress(raw, sizeof(raw), payload, header.stored_size) != header.raw_size)
                exit(1);
            payload = raw;
        }
        uint8_t head[3] = {(uint8_t)header.type, (uint8_t)header.raw_size,
                           (uint8_t)(header.raw_size >> 8)};
        fwrite(head, 1, sizeof(head), file);
        fwrite(payload, 1, header.raw_size, file);
        at += sizeof(header) + header.stored_size;
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: make_store_corpus FOLDER\n");
        return 2;
    }
    snprintf(path, sizeof(path), "%s/.recording", argv[1]);
    size_t size = make_recording(path);
    save_whole(argv[1], "whole", 0, size);
    save_whole(argv[1], "checksums", 1, size);
    save_payloads(argv[1], size);
    return 0;
}
