/* SPDX-License-Identifier: MIT */
/* Details of CTF that babeltrace2 does not check, and clocks that no present recording has. */
#include "ctf_records.h"
#include "export.h"
#include "hash_map.h"
#include "out_stream.h"
#include "test.h"
#include "trace_maker.h"
#include "vec.h"

#include <stdlib.h>

enum { HEAD_SIZE = 56, PACKETS_MAX = 16 };

struct packets {
    uint64_t begin_ns[PACKETS_MAX], end_ns[PACKETS_MAX], discarded[PACKETS_MAX];
    unsigned count;
};

static struct packets packets_of(struct maker *maker)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .out = out};
    struct packets packets = {0};
    size_t size;
    CHECK(out != NULL);
    CHECK_INT(export_run(exporter_by_name("ctf"), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    for (size_t at = 0; at < size; packets.count++) {
        uint64_t head[HEAD_SIZE / 8];
        CHECK(packets.count < PACKETS_MAX && size - at >= sizeof(head));
        memcpy(head, bytes + at, sizeof(head));
        CHECK(head[0] == 0xc1fc1fc1 && head[3] == head[4] && head[6] == packets.count);
        packets.begin_ns[packets.count] = head[1];
        packets.end_ns[packets.count] = head[2];
        packets.discarded[packets.count] = head[5];
        at += head[4] / 8;
        CHECK(at <= size);
    }
    out_stream_abandon(out);
    maker_destroy(maker);
    return packets;
}

static struct maker *one_thread(void)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    return maker;
}

TEST(a_loss_is_in_a_packet_of_its_time_but_not_in_the_first)
{
    struct maker *maker = one_thread();
    maker_push(maker, 0, 1000, "a");
    maker_lost(maker, 0, &(struct maker_gap){.begin = 1100, .end = 1200, .lost = 12, .depth = 1});
    maker_mark(maker, 0, 1500, "m");
    maker_lost(maker, 0, &(struct maker_gap){.begin = 1600, .end = 1700, .lost = 3, .depth = 1});
    maker_pop(maker, 0, 1800);
    maker_finish(maker, 3000);
    const struct packets packets = packets_of(maker);
    CHECK_INT(packets.count, 4);
    CHECK_INT(packets.discarded[0], 0);
    CHECK_INT(packets.end_ns[0], MAKER_BEGIN_NS + 1000);
    CHECK_INT(packets.discarded[1], 12);
    CHECK_INT(packets.end_ns[1], MAKER_BEGIN_NS + 1200);
    CHECK_INT(packets.discarded[2], 15);
    CHECK_INT(packets.begin_ns[2], MAKER_BEGIN_NS + 1500);
    CHECK_INT(packets.discarded[3], 15);
}

TEST(losses_that_no_event_tells_are_in_the_last_packet)
{
    struct maker *maker = one_thread();
    maker_lost(maker, 0, &(struct maker_gap){.begin = 100, .end = 200, .lost = 2});
    maker_finish(maker, 3000);
    trace_process(maker_trace(maker), 0)->lost[LOSS_REFUSED] += 40;
    const struct packets packets = packets_of(maker);
    CHECK_INT(packets.discarded[packets.count - 1], 42);
}

TEST(nothing_is_a_packet_without_events)
{
    struct maker *maker = maker_create();
    const struct packets packets = packets_of(maker);
    CHECK_INT(packets.count, 1);
}

static void check_clock(int64_t begin_ns, int64_t realtime_ns, const char *expected)
{
    struct maker *maker = one_thread();
    struct out_stream *out = out_stream_memory();
    size_t size;
    maker_finish(maker, 3000);
    trace_session(maker_trace(maker))->begin_ns = begin_ns;
    trace_session(maker_trace(maker))->begin_realtime_ns = realtime_ns;
    ctf_put_metadata(maker_trace(maker), begin_ns < 0 ? begin_ns - 10 : 0, out);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    CHECK(text && strstr(text, expected) != NULL);
    free(text);
    out_stream_abandon(out);
    maker_destroy(maker);
}

TEST(clocks_count_from_1970_or_from_the_begin)
{
    check_clock(5000000000, 1700000000000000007, "offset_s = 1699999995;\n\toffset = 7;");
    check_clock(-30, 1700000000000000000, "offset_s = 1699999999;\n\toffset = 999999990;");
    check_clock(7000000000, 2500000000, "offset_s = -5;\n\toffset = 500000000;");
    check_clock(5000000001, 0, "offset_s = -6;\n\toffset = 999999999;");
    check_clock(INT64_MIN + 20, INT64_MAX, "offset_s = ");
}

/* Fields after the context of a thread: a number, two texts and a number. */
static const char last_fields[] = "\xff\xff\xff\xff\xff\xff\xff\xff"
                                  "a text of more than a few bytes\0-\0"
                                  "\x05\0\0\0\0\0\0";

static void check_spelled(const struct ctf_records *records)
{
    const size_t end_size = sizeof(last_fields);
    ctf_bytes bytes = {0};
    uint64_t lost;
    CHECK(records->pieces.count > 0 && records->error == 0);
    CHECK_INT(ctf_spell_out(records, records->pieces.items, (uint32_t)records->pieces.count, &bytes,
                            &lost),
              0);
    CHECK_INT(lost, 0);
    CHECK_INT(bytes.items[0], CTF_MARK);
    CHECK_INT(bytes.count, 1 + records->contexts[0].count + end_size);
    CHECK(memcmp(bytes.items + 1, records->contexts[0].items, records->contexts[0].count) == 0);
    CHECK(memcmp(bytes.items + bytes.count - end_size, last_fields, end_size) == 0);
    vec_free(&bytes);
}

static void put_event(struct ctf_records *records, uint64_t key)
{
    const struct wide_key wide = {.words = {key, 1, 2, 3}};
    static const char text[] = "a text of more than a few bytes";
    ctf_begin(records, CTF_MARK, 0);
    ctf_put_uint64(records, UINT64_MAX);
    if (!ctf_put_known(records, &wide)) {
        ctf_put_text(records, text, strlen(text));
        ctf_put_text(records, "", 0);
        ctf_keep(records, &wide);
    }
    ctf_put_uint64(records, 5);
}

TEST(parts_of_events_are_the_same_kept_or_not)
{
    struct maker *maker = one_thread();
    struct ctf_records records;
    maker_finish(maker, 3000);
    CHECK_INT(ctf_records_init(&records, maker_trace(maker)), 0);
    put_event(&records, 1);
    check_spelled(&records);
    put_event(&records, 1);
    size_t kept = records.pieces.count;
    check_spelled(&records);
    for (uint64_t key = 2; key < 70000; key++)
        put_event(&records, key); /* until the memory is full */
    CHECK(records.pieces.count > kept);
    check_spelled(&records);
    put_event(&records, 1);
    CHECK_INT(records.pieces.count, kept);
    ctf_records_fini(&records);
    maker_destroy(maker);
}

TEST(losses_beyond_all_counting_stay_so)
{
    struct maker *maker = one_thread();
    maker_mark(maker, 0, 1000, "m");
    maker_lost(maker, 0, &(struct maker_gap){.begin = 1100, .end = 1200, .lost = UINT64_MAX});
    maker_finish(maker, 3000);
    const struct packets packets = packets_of(maker);
    CHECK(packets.discarded[packets.count - 1] >= UINT64_MAX >> 3);
}
