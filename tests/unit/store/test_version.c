/* SPDX-License-Identifier: MIT */
/* Recordings of other versions: a newer major number is refused, additions of a newer minor one are
 * skipped by their length. The files are composed by hand, from docs/recording-format.md. */
#include "chunk.h"
#include "format.h"
#include "hash.h"
#include "reader.h"
#include "store.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>

enum { FILE_ID = 0x1234 };

static FILE *file;
static uint32_t chunk_number;

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/version.annot", test_directory());
    return path;
}

static void begin_file(uint16_t major, uint16_t minor)
{
    struct store_file_header header = {.file_id = FILE_ID};
    file_header_seal(&header);
    header.major = major;
    header.minor = minor;
    header.crc = checksum_crc32c(0, &header, offsetof(struct store_file_header, crc));
    file = fopen(file_path(), "w");
    chunk_number = 0;
    CHECK(file && fwrite(&header, sizeof(header), 1, file) == 1);
}

static void add_chunk(uint8_t type, uint8_t flags, const uint8_t *payload, size_t size)
{
    struct store_chunk_header header = {
        .type = type,
        .flags = flags,
        .file_id = FILE_ID,
        .number = chunk_number++,
        .stored_size = (uint32_t)size,
        .raw_size = (uint32_t)size,
        .payload_crc = checksum_crc32c(0, payload, size),
    };
    chunk_header_seal(&header);
    CHECK(fwrite(&header, sizeof(header), 1, file) == 1);
    CHECK(fwrite(payload, 1, size, file) == size);
}

/* One thread of one process, with entries and fields unknown to this version. */
static void add_definitions(void)
{
    static const uint8_t payload[] = {
        200, 1,  3,  9,  9,  9, 201, 1,   2,   9,  9, /* two unknown entries */
        1,   7,  1,  1,  4,  3, 'r', 'u', 'n', /* string 1                                     */
        3,   4,  0,  1,  1,  0,                /* process 0: pid, no further column            */
        4,   36, 0,  1,  1,  0, 1,   2,   1,   14, 1,  2, /* thread 0: process, serial, tid, name */
        0,   0,  0,  0, /* no comm, no times, no events                 */
        13,  12, 2,  4,  6,  8, 10,  12,  14,  16, 18, 20,
        22,  24,                        /* two causes of loss too many      */
        4,   77, 77, 77, 77, 2, 1,   1, /* columns of a later version                   */
    };
    add_chunk(STORE_CHUNK_DEFINITIONS, 0, payload, sizeof(payload));
}

enum {
    UNKNOWN_OPEN = 99,
    UNKNOWN_CLOSE,
    UNKNOWN_POINT,
    UNKNOWN_TRAIT = 1u << 7,
    UNKNOWN_FIELD = 1u << 13, /* and 14 */
    LATER_EVENTS = 10,
};

/* A writer of a later version: kinds that open and close, with key-values, traits and fields
 * unknown here, between known events:
 *
 *     PUSH "run" {1=5} | unknown open {1="a", 2=?} | PUSH | unknown point | POP, depth 2 |
 *     unknown close, depth 1 | unknown open | unknown close, implied | PUSH "run" {1=7} | POP */
static void add_events(void)
{
    static const uint8_t batches[] = {0, LATER_EVENTS, 1, 0, 32, 0, 0, 200, 1};
    static const uint8_t tokens[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 5};
    static const uint8_t controls[] = {0, 0, 0};
    static const uint8_t times[LATER_EVENTS] = {0, 5, 7, 1, 1, 1, 1, 1, 1, 1};
    static const uint8_t extras[] = {
        /* 1 */
        EVENT_PUSH, EVENT_CALL | EVENT_OPENS, 0, 0, 0x80, 1, /* fields: key-values */
        2, 0,                                                /* name 1 */
        1, 2, VALUE_INT64,                                   /* one, with key 1 */
        10,                                                  /* 5 */
        /* 2: two key-values, the second with a value of a later kind; fields 13 and 14 */
        UNKNOWN_OPEN, EVENT_CALL | EVENT_OPENS | UNKNOWN_TRAIT, 1, 0, 0x80, 0xc1, 1, 0, 0, 2, 0,
        VALUE_STRING, 2, 77, 2, 'o', 'f', 0, /* of the shape: field 13 two bytes, field 14 absent */
        2, 84,                               /* values */
        0, 3, 'x', 'y', 'z', /* of the event: field 13 absent, field 14 three bytes */
        /* 3 */
        EVENT_PUSH, EVENT_CALL | EVENT_OPENS, 0, 0, 0, 0, 0,
        /* 4: a value of a later kind, an id, an end */
        UNKNOWN_POINT, EVENT_OWN_TIME | EVENT_HAS_END, 0, 9,
        STORE_FIELD_ID | STORE_FIELD_END | STORE_FIELD_VALUE, 0, 0, 8, 6, 84,
        /* 5 */
        EVENT_POP, EVENT_CALL | EVENT_CLOSES, 0, 0, STORE_FIELD_DEPTH_IMPLIED, 1, 0,
        /* 6: with an id, stored in the place of the depth */
        UNKNOWN_CLOSE, EVENT_CALL | EVENT_CLOSES, 0, 0, STORE_FIELD_DEPTH | STORE_FIELD_ID, 0, 0, 1,
        100,
        /* 7 */
        UNKNOWN_OPEN, EVENT_OPENS, 0, 0, 0, 0, 0,
        /* 8 */
        UNKNOWN_CLOSE, EVENT_CLOSES, 0, 0, STORE_FIELD_DEPTH_IMPLIED, 0, 0,
        /* 9: shape 1 */
        4,
        /* 10: shape 5 */
    };
    struct store_events_header header = {LATER_EVENTS,     sizeof(batches), sizeof(tokens),
                                         sizeof(controls), sizeof(times),   sizeof(extras)};
    uint8_t payload[512], *at = payload;
    at = mempcpy(at, &header, sizeof(header));
    at = mempcpy(at, batches, sizeof(batches));
    at = mempcpy(at, tokens, sizeof(tokens));
    at = mempcpy(at, controls, sizeof(controls));
    at = mempcpy(at, times, sizeof(times));
    at = mempcpy(at, extras, sizeof(extras));
    add_chunk(STORE_CHUNK_EVENTS, 0, payload, (size_t)(at - payload));
}

static void check_later_events(struct store_reader *reader)
{
    static const struct {
        uint8_t kind;
        int64_t time_ns;
        uint64_t depth, arg;
    } expected[] = {{EVENT_PUSH, 100, 0, 5},
                    {EVENT_PUSH, 112, 0, 0},
                    {EVENT_POP, 114, 2, 0},
                    {EVENT_PUSH, 118, 0, 7},
                    {EVENT_POP, 119, 1, 0}};

    const size_t count = sizeof(expected) / sizeof(expected[0]);
    struct event_batch batch;
    CHECK_INT(store_reader_next(reader, &batch), 1);
    CHECK_INT(batch.count, count);
    CHECK_INT(batch.source.sequence, 1);
    CHECK_INT(batch.source.end_offset, 16);
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &batch.events[i];
        const struct args args = event_args(&batch, event);
        CHECK_INT(event->kind, expected[i].kind);
        CHECK_INT(event->time_ns, expected[i].time_ns);
        CHECK_INT(event->depth, expected[i].depth);
        CHECK_INT(args.count, expected[i].arg != 0);
        if (args.count) {
            CHECK_INT(args.items[0].key, 1);
            CHECK_INT(args.items[0].value.uint64, expected[i].arg);
            CHECK_STR(trace_string(store_reader_trace(reader), event->name)->bytes, "run");
        }
    }
    CHECK_INT(store_reader_next(reader, &batch), 0);
    CHECK_INT(store_reader_damage_count(reader), 0);
}

static void end_file(void)
{
    struct store_end end = {.event_count = LATER_EVENTS, .chunk_count = chunk_number};
    add_chunk(STORE_CHUNK_END, 0, (const uint8_t *)&end, sizeof(end));
    fclose(file);
}

TEST(newer_major_version_is_refused)
{
    struct store_reader *reader;
    begin_file(STORE_VERSION_MAJOR + 1, 0);
    fclose(file);
    CHECK_INT(store_reader_open(file_path(), &reader), -EPROTONOSUPPORT);
}

TEST(newer_minor_version_is_read_and_additions_are_skipped)
{
    struct store_reader *reader;
    struct store_info info;
    begin_file(STORE_VERSION_MAJOR, STORE_VERSION_MINOR + 7);
    add_chunk(200, 0, (const uint8_t *)"what is this", 12);
    add_definitions();
    add_chunk(STORE_CHUNK_END + 1, 0, (const uint8_t *)"kernels", 7);
    add_events();
    end_file();
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_info(reader, &info);
    CHECK_INT(info.minor, STORE_VERSION_MINOR + 7);
    const struct trace_thread *thread = trace_thread_get(store_reader_trace(reader), 0);
    CHECK(thread && trace_thread_count(store_reader_trace(reader)) == 1);
    CHECK_INT(thread->tid, 7);
    CHECK_INT(thread->name, 1);
    CHECK_INT(thread->lost[LOSS_REFUSED], 10);
    check_later_events(reader);
    store_reader_close(reader);
}

TEST(unknown_flag_of_a_chunk_is_named)
{
    struct store_reader *reader;
    begin_file(STORE_VERSION_MAJOR, STORE_VERSION_MINOR);
    add_chunk(STORE_CHUNK_DEFINITIONS, 2, (const uint8_t *)"?", 1);
    end_file();
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_STR(store_reader_damage(reader, 0)->reason, "chunk of a newer format");
    store_reader_close(reader);
}
