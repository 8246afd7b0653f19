/* SPDX-License-Identifier: MIT */
/* Samples are read back as written, between events, after a resume and after damage, and take few
 * bytes; reads of untrusted payloads stay within bounds. */
#include "format.h"
#include "random_samples.h"
#include "reader.h"
#include "sample_decode.h"
#include "sample_encode.h"
#include "sample_events.h"
#include "stacks.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 3, THREADS = 4, STRINGS = 40, GROUP = 333 };

static struct sample group[GROUP];

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/samples.annot", test_directory());
    return path;
}

static void write_groups(struct store_writer *writer, const struct trace *trace, uint64_t *random,
                         int count)
{
    for (int i = 0; i < count; i++) {
        random_samples(trace, PROCESSES * THREADS, random, group, GROUP);
        CHECK_INT(store_writer_add_samples(writer, group, GROUP), 0);
    }
}

/* Reads samples one by one, independent of the reader's groups. */
struct cursor {
    struct store_reader *reader;
    const struct sample *samples;
    uint32_t at, count;
};

static const struct sample *next_sample(struct cursor *cursor)
{
    while (cursor->at == cursor->count) {
        cursor->at = 0;
        if (store_reader_next_samples(cursor->reader, &cursor->samples, &cursor->count) != 1)
            return NULL;
        CHECK(cursor->count > 0);
    }
    return &cursor->samples[cursor->at++];
}

static void check_groups(struct cursor *cursor, const struct trace *trace, uint64_t *random,
                         int count)
{
    for (int i = 0; i < count; i++) {
        random_samples(trace, PROCESSES * THREADS, random, group, GROUP);
        for (uint32_t s = 0; s < GROUP; s++) {
            const struct sample *actual = next_sample(cursor);
            CHECK(actual != NULL);
            random_check_sample(actual, &group[s]);
        }
    }
}

static struct trace *make_trace(void)
{
    struct trace *trace = sample_trace(PROCESSES, THREADS, STRINGS);
    random_stacks(trace, STRINGS, 9000);
    return trace;
}

static struct store_writer *create_writer(const struct trace *trace)
{
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true};
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    return writer;
}

TEST(random_samples_come_back_exactly)
{
    enum { GROUPS = 300 };
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    uint64_t random = 5;
    write_groups(writer, trace, &random, GROUPS);
    CHECK(store_writer_pending_bytes(writer) > 0);
    CHECK_INT(store_writer_close(writer), 0);
    struct cursor cursor = {0};
    CHECK_INT(store_reader_open(file_path(), &cursor.reader), 0);
    sample_check_trace(store_reader_trace(cursor.reader), trace);
    for (int pass = 0; pass < 2; pass++) {
        random = 5;
        check_groups(&cursor, trace, &random, GROUPS);
        CHECK(!next_sample(&cursor));
        CHECK_INT(store_reader_rewind(cursor.reader), 0);
    }
    struct store_info info;
    store_reader_info(cursor.reader, &info);
    CHECK_INT(info.sample_count, GROUPS * GROUP);
    CHECK_INT(store_reader_damage_count(cursor.reader), 0);
    store_reader_close(cursor.reader);
    trace_destroy(trace);
}

/* A trace that grows while it is written: each sample's stack is new, and its definition must
 * precede it in the file. */
TEST(samples_and_events_and_their_definitions_stay_apart_and_in_order)
{
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    static struct sample_source source = {.strings = STRINGS, .random = 3};
    static struct event events[100];
    uint32_t first = stacks_stack_count(trace_stacks(trace));
    for (uint32_t i = 0; i < 5000; i++) {
        int64_t stack = stacks_push(trace_stacks(trace), first + i - 1, 3);
        CHECK_INT(stack, first + i);
        struct sample sample = {
            .set = SAMPLE_SET_CPU, .time_ns = i * 100, .stack = (uint32_t)stack, SAMPLE_VALUES(5)};
        CHECK_INT(store_writer_add_samples(writer, &sample, 1), 0);
        sample_events(&source, 1, events, 100);
        struct event_batch batch = {1, 100, events, {i, 0, 100}, 0, sample_args, 0, 0};
        CHECK_INT(store_writer_add(writer, &batch), 0);
        if (i % 700 == 0)
            CHECK_INT(store_writer_flush(writer), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    struct cursor cursor = {0};
    struct event_batch batch;
    uint32_t event_count = 0;
    CHECK_INT(store_reader_open(file_path(), &cursor.reader), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        const struct sample *sample = next_sample(&cursor);
        CHECK(sample != NULL);
        CHECK_INT(sample->stack, first + i);
        if (i % 2 && store_reader_next(cursor.reader, &batch) == 1)
            event_count += batch.count;
    }
    while (store_reader_next(cursor.reader, &batch) == 1)
        event_count += batch.count;
    CHECK_INT(event_count, 500000);
    CHECK(!next_sample(&cursor));
    sample_check_trace(store_reader_trace(cursor.reader), trace);
    CHECK_INT(store_reader_damage_count(cursor.reader), 0);
    store_reader_close(cursor.reader);
    trace_destroy(trace);
}

TEST(what_was_flushed_survives_the_collector_and_a_resume_goes_on)
{
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    struct cursor cursor = {0};
    uint64_t random = 5;
    write_groups(writer, trace, &random, 10);
    CHECK_INT(store_writer_flush(writer), 0);
    CHECK_INT(store_writer_pending_bytes(writer), 0);
    uint64_t later = random;
    write_groups(writer, trace, &random, 1); /* not flushed: lost */
    store_writer_abandon(writer);

    CHECK_INT(store_reader_open(file_path(), &cursor.reader), 0);
    struct trace *resumed = store_reader_trace(cursor.reader);
    CHECK_INT(store_writer_resume(file_path(), resumed, &writer), 0);
    uint32_t frames[2];
    int64_t leaf = stacks_push(trace_stacks(resumed), 0, 7);
    CHECK(leaf > 0 && stacks_frames(trace_stacks(resumed), (uint32_t)leaf, frames, 2) == 1);
    CHECK_INT(trace_fact_set(resumed, FACT_LOSS, "collector died", 1), 0);
    struct sample last = {
        .set = SAMPLE_SET_CPU, SAMPLE_VALUES(5), .stack = (uint32_t)leaf, .time_ns = 77};
    random = later;
    write_groups(writer, trace, &random, 4);
    CHECK_INT(store_writer_add_samples(writer, &last, 1), 0);
    CHECK_INT(store_writer_close(writer), 0);
    store_reader_close(cursor.reader);

    cursor = (struct cursor){0};
    CHECK_INT(store_reader_open(file_path(), &cursor.reader), 0);
    random = 5;
    check_groups(&cursor, trace, &random, 10);
    random = later;
    check_groups(&cursor, trace, &random, 4);
    random_check_sample(next_sample(&cursor), &last);
    CHECK(!next_sample(&cursor));
    const struct trace *read = store_reader_trace(cursor.reader);
    CHECK_INT(stacks_get_stack(trace_stacks_get(read), (uint32_t)leaf)->frame, 7);
    CHECK_INT(trace_fact_get(read, trace_fact_count(read) - 1)->value, 1);
    CHECK_INT(store_reader_damage_count(cursor.reader), 0);
    store_reader_close(cursor.reader);
    trace_destroy(trace);
}

static void name_frame(struct trace *trace, uint32_t frame, const char *text)
{
    const struct label like = {.kind = FRAME_NATIVE};
    const struct frame_name name = {.frame = frame,
                                    .label = (uint32_t)trace_label_add(trace, &like, text)};
    CHECK_INT(stacks_name_frame(trace_stacks(trace), &name), 0);
}

static const char *name_read(const struct trace *trace, uint32_t frame)
{
    return trace_string(trace, stacks_label_of(trace_stacks_get(trace), frame)->text)->bytes;
}

TEST(names_of_frames_come_in_later_chunks_and_by_a_resume)
{
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    struct store_reader *reader;
    struct frame frame = {.kind = FRAME_NATIVE};
    uint32_t frames[3];
    const struct code_module module = {
        .path = (uint32_t)trace_string_add(trace, "/lib/libm.so.6", 14), .kind = MODULE_ELF};
    frame.module = (uint32_t)stacks_module(trace_stacks(trace), &module);
    for (uint32_t i = 0; i < 3; i++) {
        frame.address = 0x1000 * (i + 1);
        frames[i] = (uint32_t)stacks_frame(trace_stacks(trace), &frame);
    }
    name_frame(trace, frames[0], "sin");
    CHECK_INT(store_writer_flush(writer), 0);
    name_frame(trace, frames[1], "cos");
    CHECK_INT(store_writer_flush(writer), 0);
    store_writer_abandon(writer);
    trace_destroy(trace);

    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    struct trace *read = store_reader_trace(reader);
    CHECK_STR(name_read(read, frames[0]), "sin");
    CHECK_STR(name_read(read, frames[1]), "cos");
    CHECK_STR(name_read(read, frames[2]), "libm.so.6+0x3000");
    CHECK_INT(store_writer_resume(file_path(), read, &writer), 0);
    name_frame(read, frames[2], "tan");
    CHECK_INT(store_writer_close(writer), 0);
    store_reader_close(reader);

    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    read = store_reader_trace(reader);
    CHECK_STR(name_read(read, frames[1]), "cos");
    CHECK_STR(name_read(read, frames[2]), "tan");
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
}

TEST(names_are_added_to_what_was_read_only)
{
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    struct store_reader *first, *second;
    const struct frame frame = {.kind = FRAME_NATIVE, .address = 0x1000};
    uint32_t ordinal = (uint32_t)stacks_frame(trace_stacks(trace), &frame);
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);

    CHECK_INT(store_reader_open(file_path(), &first), 0);
    CHECK_INT(store_reader_open(file_path(), &second), 0);
    name_frame(store_reader_trace(first), ordinal, "sin");
    CHECK_INT(store_add_names(file_path(), first), 0);
    name_frame(store_reader_trace(second), ordinal, "other");
    name_frame(store_reader_trace(second), ordinal, "cos");
    CHECK_INT(store_add_names(file_path(), second), -ESTALE);
    store_reader_close(first);
    store_reader_close(second);

    CHECK_INT(store_reader_open(file_path(), &first), 0);
    CHECK_STR(name_read(store_reader_trace(first), ordinal), "sin");
    CHECK_INT(store_reader_damage_count(first), 0);
    store_reader_close(first);
}

/* Data of a sampler at 99 Hz: regular times, few stacks at a time, mostly the same CPU. */
/* The stack of three frames of sample `i`; every tenth has the same one. */
static void frames_of(uint32_t i, uint32_t frames[3])
{
    uint32_t kind = i % 10 ? i : 0;
    frames[0] = 1 + kind % 3;
    frames[1] = 1 + kind / 3 % 7;
    frames[2] = 1 + kind % 11;
}

TEST(stacks_that_were_written_may_be_forgotten)
{
    enum { SAMPLES = 20000 };
    struct trace *trace = make_trace(); /* with frames 1 to 11 */
    struct store_writer *writer = create_writer(trace);
    struct stacks *stacks = trace_stacks(trace);
    uint32_t frames[3], actual[3], shared = 0, last = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        struct sample sample = {.set = SAMPLE_SET_CPU, .time_ns = i, SAMPLE_VALUES(1)};
        frames_of(i, frames);
        for (int f = 0; f < 3; f++)
            sample.stack = (uint32_t)stacks_push(stacks, sample.stack, frames[f]);
        CHECK_INT(store_writer_add_samples(writer, &sample, 1), 0);
        if (i % 700 == 0)
            CHECK_INT(store_writer_flush(writer), 0);
        if (i % 900 == 0)
            stacks_forget(stacks, store_writer_stacks_written(writer));
    }
    CHECK_INT(store_writer_close(writer), 0);
    struct store_reader *reader;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    struct cursor cursor = {.reader = reader};
    const struct stacks *read = trace_stacks_get(store_reader_trace(reader));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct sample *sample = next_sample(&cursor);
        CHECK(sample && sample->time_ns == i);
        frames_of(i, frames);
        CHECK_INT(stacks_frames(read, sample->stack, actual, 3), 3);
        CHECK(memcmp(frames, actual, sizeof(frames)) == 0);
        shared += i % 10 == 0 && sample->stack != last; /* one stack under several ordinals */
        last = i % 10 == 0 ? sample->stack : last;
    }
    CHECK(shared > 10 && shared < 40);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
    trace_destroy(trace);
}

TEST(a_sample_costs_few_bytes)
{
    enum { COUNT = 200000 };
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    uint64_t random = 17;
    int64_t times[8] = {0};
    CHECK_INT(store_writer_flush(writer), 0);
    uint64_t before = store_writer_file_bytes(writer);
    for (int i = 0; i < COUNT; i++) {
        uint64_t bits = sample_random(&random);
        uint32_t thread = (uint32_t)(i % 8);
        times[thread] += 10101010 + (int64_t)(bits % 4000);
        struct sample sample = {
            .set = SAMPLE_SET_CPU,
            .thread = thread,
            .time_ns = times[thread],
            .stack = (uint32_t)(bits >> 20) % (bits % 3 ? 300 : 8000),
            .path = (uint32_t)(i / 400 % 30),
            .cpu = (uint16_t)(bits % 40 ? thread : bits >> 20 & 7),
            .flags = SAMPLE_PATH_KNOWN,
            .native_end = STACK_COMPLETE,
            .python_end = STACK_COMPLETE,
            SAMPLE_VALUES(10101010),
        };
        CHECK_INT(store_writer_add_samples(writer, &sample, 1), 0);
        if (i % 400 == 399) /* every half second */
            CHECK_INT(store_writer_flush(writer), 0);
    }
    double bytes = (double)(store_writer_file_bytes(writer) - before) / COUNT;
    printf("     %.2f bytes a sample\n", bytes);
    CHECK(bytes < 12);
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

/* Flips a byte in the payload of the `index`th chunk of samples. */
static void damage_chunk(int index)
{
    int fd = open(file_path(), O_RDWR | O_CLOEXEC);
    struct store_chunk_header header;
    off_t at = STORE_HEADER_SIZE;
    CHECK(fd >= 0);
    for (;; at += (off_t)(sizeof(header) + header.stored_size)) {
        CHECK_INT(pread(fd, &header, sizeof(header), at), sizeof(header));
        if (header.type == STORE_CHUNK_SAMPLES && index-- == 0)
            break;
    }
    uint8_t byte;
    CHECK_INT(pread(fd, &byte, 1, at + 100), 1);
    byte ^= 0x10;
    CHECK_INT(pwrite(fd, &byte, 1, at + 100), 1);
    close(fd);
}

TEST(a_damaged_chunk_costs_its_samples_and_is_named)
{
    struct trace *trace = make_trace();
    struct store_writer *writer = create_writer(trace);
    struct cursor cursor = {0};
    uint64_t random = 5, third = 0;
    for (int i = 0; i < 3; i++) {
        third = random;
        write_groups(writer, trace, &random, 2);
        CHECK_INT(store_writer_flush(writer), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    damage_chunk(1);
    CHECK_INT(store_reader_open(file_path(), &cursor.reader), 0);
    for (int pass = 0; pass < 2; pass++) {
        random = 5;
        check_groups(&cursor, trace, &random, 2);
        random = third;
        check_groups(&cursor, trace, &random, 2);
        CHECK(!next_sample(&cursor));
        CHECK_INT(store_reader_damage_count(cursor.reader), 1);
        CHECK_STR(store_reader_damage(cursor.reader, 0)->reason, "checksum of a chunk is wrong");
        CHECK_INT(store_reader_rewind(cursor.reader), 0);
    }
    store_reader_close(cursor.reader);
    trace_destroy(trace);
}

/* Invariants for every consumer: times in order, values present and within their limits. */
static void check_normal(const struct sample *sample)
{
    int64_t length_ns = sample->end_ns - sample->time_ns;
    CHECK(sample->end_ns == 0 || length_ns >= 0);
    CHECK(sample->value_count <= SAMPLE_VALUES_MAX);
    for (int i = 0; i < sample->value_count; i++)
        CHECK(sample->values[i] >= 0 &&
              (sample->values[i] <= STORE_VALUE_MAX || sample->values[i] <= length_ns));
}

TEST(any_changed_payload_is_read_inside_its_bounds)
{
    struct trace *trace = make_trace();
    struct sample_encoder *encoder = sample_encoder_create();
    struct sample_decoder *decoder = sample_decoder_create();
    uint64_t random = 5;
    random_samples(trace, PROCESSES * THREADS, &random, group, GROUP);
    for (int i = 0; i < GROUP; i++)
        CHECK_INT(sample_encoder_add(encoder, sample_set_get(NULL, group[i].set), &group[i]), 0);
    size_t size = sample_encoder_size(encoder);
    uint8_t *payload = malloc(size), *changed = malloc(size);
    sample_encoder_take(encoder, payload);
    CHECK_INT(sample_encoder_size(encoder), 0);
    for (int round = 0; round < 20000; round++) {
        struct sample sample;
        int64_t values[SAMPLE_VALUES_MAX];
        size_t cut = round % 4 ? size : sample_random(&random) % size;
        uint8_t *exact = malloc(cut + 1); /* so that a sanitizer detects an overread */
        memcpy(changed, payload, size);
        for (int i = 0; i < 1 + round % 3; i++)
            changed[sample_random(&random) % (round % 2 ? 40 : size)] ^=
                (uint8_t)(1u << sample_random(&random) % 8);
        memcpy(exact, changed, cut);
        int status = sample_decoder_start(decoder, exact, cut);
        while (status >= 0 && (status = sample_decoder_next(decoder, &sample, values)) == 1)
            check_normal(&sample);
        free(exact);
    }
    free(payload);
    free(changed);
    sample_encoder_destroy(encoder);
    sample_decoder_destroy(decoder);
    trace_destroy(trace);
}
